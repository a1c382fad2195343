# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
"""A bed from its making to its end. Nothing in it has a name outside: namespaces are held by processes, processes die with
their parent, and what is left, a folder, is removed by two processes that watch each other. So whoever is killed, and
how, nothing stays."""

import os
import shutil
import signal
import socket
import sys
import tempfile
from dataclasses import dataclass, field

from . import agent, host, links, settings, system
from .system import NotHere


@dataclass
class Bed:
    count: int
    rate: int = 0  # bits a second, 0: as fast as it goes
    delay: int = 0  # ns, of a link, one way
    slots: int = 1
    split: bool = False
    link: str = "auto"
    folder: str = ""
    environment: dict = field(default_factory=dict)

    def name(self, number):
        return f"nigh-{number}"

    def cpus(self, number):
        """All, or a share of those that are allowed here; in turn where there are more hosts than CPUs."""
        mine = sorted(os.sched_getaffinity(0))
        if not self.split:
            return mine
        share = mine[number * len(mine) // self.count:(number + 1) * len(mine) // self.count]
        return share or [mine[number % len(mine)]]


ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Ended(Exception):
    """A signal asked for the end."""


def run(bed, command, script):
    """The command's status. This process only waits: should the one that does the work be killed, it tidies up."""
    parent = os.getpid()
    # From before there is a folder on, signals wait until somebody takes care of it.
    signal.pthread_sigmask(signal.SIG_BLOCK, (*ENDS, signal.SIGCHLD))
    bed.folder = tempfile.mkdtemp(prefix=f"nigh-hosts-{parent}-")
    worker = os.fork()
    if worker == 0:
        status = 1
        try:
            system.die_with_parent(signal.SIGTERM)
            if os.getppid() == parent:
                status = _work(bed, command, script)
        except BaseException as reason:  # it must not return into the parent's code
            print(f"hosts: {reason!r}", file=sys.stderr)
        finally:
            sys.stderr.flush()
            os._exit(status)
    done = 0
    while not done:
        if signal.sigwait((*ENDS, signal.SIGCHLD)) != signal.SIGCHLD:
            os.kill(worker, signal.SIGTERM)
        done, status = os.waitpid(worker, os.WNOHANG)
    status = os.waitstatus_to_exitcode(status)
    shutil.rmtree(bed.folder, ignore_errors=True)
    return status if status >= 0 else 128 - status


def _work(bed, command, script):
    def end(number, _):
        for other in ENDS:
            signal.signal(other, signal.SIG_IGN)
        raise Ended(number)

    started = []  # processes: hosts, then perhaps the wire
    try:
        signal.signal(signal.SIGTERM, end)
        # A terminal's Ctrl-C comes to both; the parent tells of it.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (*ENDS, signal.SIGCHLD))
        _make(bed, script, started)
        return agent.start(bed.folder, bed.name(0), command)
    except Ended as ended:
        return 128 + ended.args[0]
    except NotHere as reason:
        print(f"hosts: {reason}", file=sys.stderr)
        return 77
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        for process in started:
            os.kill(process, signal.SIGKILL)
        for process in started:  # a host is gone when its last process is
            os.waitpid(process, 0)
        shutil.rmtree(bed.folder, ignore_errors=True)


def _make(bed, script, started):
    try:
        system.unshare(system.NEWNET)  # the switch's
    except OSError as reason:
        raise NotHere(f"can't make network namespaces here ({reason}): CAP_SYS_ADMIN is needed") from None
    bed.link = links.choose(bed)
    settings.write(bed, script)
    bed.environment = settings.environment(bed.folder)
    if bed.link == "tc":
        links.bridge()
    controls = [_start_host(bed, number, started) for number in range(bed.count)]
    taps = []
    for number, control in enumerate(controls):
        word, fds, _, _ = socket.recv_fds(control, 4096, 1)
        if word == b"tap":
            taps += fds
        elif word == b"link":
            links.join_bridge(bed, number, started[number])
            control.sendall(b"go")
        else:
            raise NotHere(f"{bed.name(number)}: {word.decode() or 'ended while it was made'}")
    if taps:
        started.append(links.start_wire(bed, taps).pid)
    for number, control in enumerate(controls):
        word = control.recv(4096)
        if word != b"ready":
            raise NotHere(f"{bed.name(number)}: {word.decode() or 'ended while it was made'}")
        control.close()


def _start_host(bed, number, started):
    """Its process 1, the first in a new process namespace; this process's later children stay in ours."""
    mine, theirs = socket.socketpair()
    here = os.open("/proc/self/ns/pid", os.O_RDONLY)
    try:
        system.unshare(system.NEWPID)
        process = os.fork()
        if process == 0:
            mine.close()
            try:
                host.live(bed, number, theirs)
            finally:
                os._exit(1)
        started.append(process)
        system.setns(here, system.NEWPID)
    except OSError as reason:
        raise NotHere(f"can't make a process namespace here ({reason})") from None
    finally:
        os.close(here)
        theirs.close()
    return mine
