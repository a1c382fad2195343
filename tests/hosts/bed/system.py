# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
"""The system calls that Python 3.11 has no functions for, and the two ways in which a bed can't be: what was asked for is
wrong (Wrong, status 2), or this machine does not allow it (NotHere, status 77, which a test takes for a skip)."""

import ctypes
import os
import subprocess
from contextlib import contextmanager

NEWNS, NEWUTS, NEWIPC, NEWPID, NEWNET = 0x20000, 0x4000000, 0x8000000, 0x20000000, 0x40000000
MS_BIND, MS_MOVE, MS_REC, MS_PRIVATE = 4096, 8192, 16384, 1 << 18
PR_SET_PDEATHSIG = 1

_libc = ctypes.CDLL(None, use_errno=True)


class Wrong(Exception):
    pass


class NotHere(Exception):
    pass


def _call(what, result):
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")


def unshare(flags):
    _call("unshare", _libc.unshare(flags))


def setns(fd, kind):
    _call("setns", _libc.setns(fd, kind))


def set_host_name(name):
    data = name.encode()
    _call("sethostname", _libc.sethostname(data, len(data)))


def die_with_parent(number):
    _call("prctl", _libc.prctl(PR_SET_PDEATHSIG, int(number), 0, 0, 0))


def mount(source, target, kind=None, flags=0, data=None):
    parts = [os.fsencode(x) if x is not None else None for x in (source, target, kind)]
    _call(f"mount on {target}", _libc.mount(*parts, ctypes.c_ulong(flags), data.encode() if data else None))


@contextmanager
def socket_path(folder, host):
    """A folder's name may be longer than the 107 bytes that a socket's may have."""
    fd = os.open(folder, os.O_PATH | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{fd}/{host}.socket"
    finally:
        os.close(fd)


def run(*command, words=None):
    """Runs one of the tools of iproute2; what it says when it fails is the reason."""
    try:
        told = subprocess.run(command, input=words, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    except FileNotFoundError:
        raise NotHere(f"there is no {command[0]} here (package iproute2)") from None
    if told.returncode:
        raise NotHere(f"{' '.join(command)}: {' '.join(told.stdout.split()) or told.returncode}")
