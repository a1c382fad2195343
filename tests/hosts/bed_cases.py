# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
"""bed_cases.py BUILD CASE: the bed itself. Hosts have names and addresses, share files and nothing else; two beds know nothing
of each other; whatever ends one, nothing of it stays."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

from testing import HOSTS, bed, check, environment, gone, main, processes, running, skip, traces, until

BUILD = sys.argv[1]
EVERYWHERE = 'for h in nigh-0 nigh-1 nigh-2; do $NIGH_HOSTS/enter $h "{}"; done'


def shell(options, line, limit=60):
    return bed(BUILD, options, ["sh", "-c", line], limit)


def names():
    told = shell("-n 3", EVERYWHERE.format("hostname; getent hosts nigh-2; ip -brief -4 address show eth0"))
    words = told.out.split()
    check([w for w in words if w in ("nigh-0", "nigh-1")] == ["nigh-0", "nigh-1"], f"names: {told}")
    check(words.count("10.77.0.3") == 3 and [w for w in words if w.endswith("/24")] ==
          [f"10.77.0.{i}/24" for i in (1, 2, 3)], f"addresses: {told}")
    told = shell("-n 2", "cd /usr/lib; umask 027; $NIGH_HOSTS/enter nigh-1 'pwd; umask; cat; exit 9' <<.\nsaid\n.\necho $?")
    check(told.out.split() == ["/usr/lib", "0027", "said", "9"], f"the agent keeps folder, streams and status: {told}")
    told = shell("-n 1", "kill -TERM $$")
    check(told.status == 143, f"the command's signal is told as a shell does: {told}")
    mine = len(os.sched_getaffinity(0))
    told = shell("-n 2 --cpus split", "nproc; $NIGH_HOSTS/enter nigh-1 nproc; grep -h Cpus_allowed_list /proc/self/status; "
                 "$NIGH_HOSTS/enter nigh-1 grep Cpus_allowed_list /proc/self/status")
    words = told.out.split()
    check(int(words[0]) + int(words[1]) == max(mine, 2), f"the hosts' CPUs: {told}")
    check(mine < 2 or words[3] != words[5], f"the hosts have the same CPUs: {told}")
    with tempfile.TemporaryDirectory() as top:
        long = Path(top, "x" * 150)
        long.mkdir()
        told = subprocess.run([HOSTS, "-n", "2", "--", "sh", "-c", "$NIGH_HOSTS/enter nigh-1 hostname"], text=True,
                              env={**environment(BUILD), "TMPDIR": str(long)}, capture_output=True)
        check(told.stdout == "nigh-1\n" and not os.listdir(long), f"a folder's name longer than a socket's may be: {told}")


def apart():
    """Not by shared memory, System V or POSIX, not by processes, not by sockets without a path."""
    told = shell("-n 2", """
        touch /dev/shm/mine; ipcmk -M 4096 >/dev/null; sleep 77 & echo $! >$NIGH_HOSTS/tmp/pid
        $NIGH_HOSTS/enter nigh-1 'ls /dev/shm | wc -l; ipcs -m | grep -c 4096; pgrep -c -x sleep; ps ax | wc -l'
        $NIGH_HOSTS/enter nigh-1 'kill -0 $(cat $NIGH_HOSTS/tmp/pid) && echo reached'
        ls /dev/shm | wc -l; ipcs -m | grep -c 4096; pgrep -c -x sleep """)
    words = told.out.split()
    check(words[:3] == ["0", "0", "0"] and int(words[3]) < 9 and words[4:] == ["1", "1", "1"], f"isolation: {told}")
    # Another bed at the same time, with the same names inside.
    inner = f"'{HOSTS}' -n 2 --link wire -- sh -c '$NIGH_HOSTS/enter nigh-1 \"hostname; ls /dev/shm\"'"
    line = "touch /dev/shm/other; sleep 2; $NIGH_HOSTS/enter nigh-1 hostname"
    with running(BUILD, "-n 2 --link wire", ["sh", "-c", line]) as other:
        time.sleep(1)
        told = subprocess.run(inner, shell=True, env=environment(BUILD), capture_output=True, text=True)
        check(told.stdout.split() == ["nigh-1"], f"a second bed: {told}")
        out, err = other.communicate(timeout=30)
        check(other.returncode == 0 and out.split() == ["nigh-1"], f"the first bed, after the second: {out}{err}")
        gone(other)


def refused():
    for words, says in (("-n 0 -- true", "1 to 64 hosts"), ("-n 65 -- true", "1 to 64"), ("--rate fast -- true", "1gbit"),
                        ("--rate 1 -- true", "1gbit"), ("--delay 3 -- true", "30us"), ("--delay -3us -- true", "delay"),
                        ("--slots 0 -- true", "--slots"), ("-n x -- true", "invalid int"), ("-n 2 --", "what to run"),
                        ("-n 2 true", "what to run"), ("--link air -- true", "invalid choice"),
                        ("--rate 1kbit -- true", "100kbit"), ("enter nigh-0", "NIGH_HOSTS")):
        told = subprocess.run([HOSTS, *words.split()], env=environment(BUILD), capture_output=True, text=True)
        check(told.returncode == 2 and says in told.stderr and told.stderr.count("\n") == 1, f"{words}: {told}")
    other = ["setpriv", "--reuid", "65534", "--clear-groups"] if os.geteuid() == 0 else []
    if subprocess.run([*other, "test", "-r", HOSTS]).returncode:
        print("no other user can read this folder, so what one is told is not tested")
    else:
        told = subprocess.run([*other, sys.executable, HOSTS, "--", "true"], text=True, env=environment(BUILD),
                              capture_output=True)
        check(told.returncode == 77 and told.stderr == "hosts: namespaces with links between them need root\n",
              f"another user: {told}")
    check(bed(BUILD, "-n 1", ["no-such-program"]).status == 127, "a program that is not there")
    told = shell("-n 1", "$NIGH_HOSTS/enter nigh-7 true")
    check(told.status == 2 and "no host nigh-7" in told.err, f"a host that is not there: {told}")


@contextmanager
def until_there(options="-n 3 --delay 100us --rate 1gbit"):
    """A bed with something running on each host, also what its parent left."""
    line = "for h in nigh-1 nigh-2; do $NIGH_HOSTS/enter $h 'setsid sleep 600 & sleep 601' & done; (sleep 602 &); " \
           "echo there; sleep 603"
    with running(BUILD, options, ["sh", "-c", line]) as process:
        if process.stdout.readline() != "there\n":
            out, err = process.communicate(timeout=30)
            if process.returncode == 77:
                skip(err.strip())
            check(False, f"the bed ended before its command began: status {process.returncode}: {out}{err}")
        check(until(lambda: sorted(x for x in processes(process).values() if x.startswith("sleep")) ==
                    ["sleep 600", "sleep 600", "sleep 601", "sleep 601", "sleep 602", "sleep 603"]),
              f"what is looked for is not seen while it is there: {traces(process)}")
        yield process


def lineage(bed):
    """From the bed's command up to the bed: the command, process 1 of the first host, who works, who waits."""
    line = [number for number, words in processes(bed).items() if words == "sleep 603"]
    while line[-1] not in (bed.pid, 0):
        line.append(int(Path(f"/proc/{line[-1]}/stat").read_text().rpartition(")")[2].split()[1]))
    return line


def normal():
    line = "(setsid sleep 600 &); $NIGH_HOSTS/enter nigh-1 'sleep 601' & exit 3"
    with running(BUILD, "-n 2 --delay 100us", ["sh", "-c", line]) as process:
        out, err = process.communicate(timeout=30)
        if process.returncode == 77:
            skip(err.strip())
        check(process.returncode == 3, f"status {process.returncode}: {out}{err}")
        gone(process)


def killed():
    """The command, by kill -9; then each of the bed's own processes."""
    with until_there() as process:
        os.kill(lineage(process)[0], signal.SIGKILL)
        check(process.wait(30) in (137, 0), f"status {process.returncode}")
        gone(process)
    for which in (-1, -2, -3):
        with until_there() as process:
            os.kill(lineage(process)[which], signal.SIGKILL)
            if which == -3:  # a host that is lost is the command's business; here it is the first, where the command runs
                check(process.wait(30) != 0, "the first host was killed, and the status is 0")
            gone(process)


def ended():
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        with until_there() as process:
            process.send_signal(number)
            process.wait(30)
            gone(process)
            check(process.returncode == 143, f"signal {number}: status {process.returncode}")


main({f.__name__: f for f in (names, apart, refused, normal, killed, ended)}[sys.argv[2]])
