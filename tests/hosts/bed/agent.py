# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
"""What ssh is on a cluster: asks process 1 of a host to start a command there, with this process's standard streams and
folder, and ends as the command does. As with ssh the environment is the host's, not the caller's."""

import json
import os
import socket

from .system import Wrong, socket_path


def start(folder, host, command, name=None, keep=None):
    """The status of `command`, words for execvp, on a host of the bed in `folder`. `keep` takes the connection."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with socket_path(folder, host) as path:
            connection.connect(path)
    except OSError:
        raise Wrong(f"there is no host {host} in the test bed of {folder}") from None
    if keep:
        keep(connection)
    request = json.dumps({"command": command, "folder": os.getcwd(), "umask": os.umask(0o22)}).encode()
    socket.send_fds(connection, [len(request).to_bytes(4, "little")], [0, 1, 2])
    connection.sendall(request)
    answer = connection.recv(16)
    return int(answer) if answer else 255


def enter(words):
    """hosts enter HOST COMMAND...: the words are one line for a shell, as ssh and rsh have it."""
    folder = os.environ.get("NIGH_HOSTS")
    if not folder:
        raise Wrong("NIGH_HOSTS does not name the folder of a test bed; it is set for what runs in one")
    if len(words) < 2:
        raise Wrong("hosts enter HOST COMMAND...: say which host and what to run there")
    return start(folder, words[0], ["/bin/sh", "-c", " ".join(words[1:])])
