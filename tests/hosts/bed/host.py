# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
"""Process 1 of a host: makes the namespaces it lives in, starts what the agent asks for, and waits for every process that
lost its parent. When it ends, and it ends with the bed, the kernel ends all processes of the host."""

import json
import os
import selectors
import signal
import socket
import sys

from . import links, system


def live(bed, number, control):
    """`control` leads to the bed: it gets the host's end of the link, says when the link is there, hears of readiness."""
    try:
        system.die_with_parent(signal.SIGKILL)
        os.setsid()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        system.unshare(system.NEWNS | system.NEWUTS | system.NEWIPC | system.NEWNET)
        name = bed.name(number)
        system.set_host_name(name)
        _mount(bed, number)
        links.host_side(bed, number, control)
        os.sched_setaffinity(0, bed.cpus(number))
        os.environ.update(bed.environment)
        server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        with system.socket_path(bed.folder, name) as path:
            server.bind(path)
        server.listen(64)
        control.sendall(b"ready")
    except (OSError, system.NotHere) as reason:
        control.sendall(str(reason).encode())
        os._exit(1)
    control.close()
    Init(server).serve()


def _mount(bed, number):
    system.mount("none", "/", flags=system.MS_REC | system.MS_PRIVATE)
    system.mount("proc", "/proc", "proc")
    # /sys/class/net is that of the namespace which mounted it; the control groups come along.
    cgroups = os.path.join(bed.folder, "cgroup")
    system.mount("/sys/fs/cgroup", cgroups, flags=system.MS_BIND | system.MS_REC)
    system.mount("sysfs", "/sys", "sysfs")
    system.mount(cgroups, "/sys/fs/cgroup", flags=system.MS_MOVE)
    os.makedirs("/dev/shm", exist_ok=True)
    system.mount("tmpfs", "/dev/shm", "tmpfs", data="mode=1777")
    system.mount(os.path.join(bed.folder, "hosts"), "/etc/hosts", flags=system.MS_BIND)
    for kind in ("all", "default"):
        try:
            with open(f"/proc/sys/net/ipv6/conf/{kind}/disable_ipv6", "w") as file:
                file.write("1")
        except FileNotFoundError:
            pass


class Init:
    def __init__(self, server):
        self.server, self.children = server, {}
        self.selector = selectors.DefaultSelector()
        self.selector.register(server, selectors.EVENT_READ, self._accept)
        woken, wake = socket.socketpair()
        for end in (woken, wake):
            end.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake.fileno(), warn_on_full_buffer=False)
        self.selector.register(woken, selectors.EVENT_READ, lambda: woken.recv(4096))
        self.wake = wake

    def serve(self):
        while True:
            for key, _ in self.selector.select():
                key.data()
            self._reap()

    def _accept(self):
        connection = self.server.accept()[0]
        try:
            head, streams, _, _ = socket.recv_fds(connection, 4, 3)
            wanted, data = int.from_bytes(head, "little"), b""
            while len(data) < wanted:
                part = connection.recv(wanted - len(data))
                if not part:
                    raise EOFError
                data += part
            request = json.loads(data)
        except (OSError, EOFError, ValueError):
            connection.close()
            return
        child = os.fork()
        if child == 0:
            _execute(request, streams)
        for fd in streams:
            os.close(fd)
        self.children[child] = connection
        self.selector.register(connection, selectors.EVENT_READ, lambda: self._left(child, connection))

    def _left(self, child, connection):
        """Who asked is gone, so nobody wants the answer: the command is told as by a closed terminal."""
        self.selector.unregister(connection)
        connection.close()
        if self.children.pop(child, None):
            try:
                os.killpg(child, signal.SIGHUP)
            except OSError:
                pass

    def _reap(self):
        while True:
            try:
                child, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if child == 0:
                return
            connection = self.children.pop(child, None)
            if connection:
                self.selector.unregister(connection)
                code = os.waitstatus_to_exitcode(status)
                try:
                    connection.sendall(str(code if code >= 0 else 128 - code).encode())
                except OSError:
                    pass
                connection.close()


def _execute(request, streams):
    try:
        os.setsid()
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        for target, fd in enumerate(streams):
            os.dup2(fd, target)
        os.closerange(3, 1 << 16)
        os.umask(request["umask"])
        os.chdir(request["folder"])
        command = request["command"]
        os.execvp(command[0], command)
    except OSError as reason:
        print(f"hosts: {request['command'][0]}: {reason.strerror}", file=sys.stderr, flush=True)
        os._exit(127 if isinstance(reason, FileNotFoundError) else 126)
