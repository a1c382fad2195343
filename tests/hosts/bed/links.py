# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
"""The network: each host has one link, eth0, to one switch. Two ways to make it. `tc`: a veth to a bridge, both ends limited
by the kernel (tbf for the rate, netem for the delay). `wire`: a TAP whose other end a process of ours holds, which is the
switch and keeps the times (wire.cpp); for kernels that have no netem."""

import fcntl
import os
import shutil
import socket
import struct
import subprocess
from pathlib import Path

from . import settings, system
from .system import NotHere

TAP, NO_PI, VNET_HDR = 0x0002, 0x1000, 0x4000
TUNSETIFF, TUNSETOFFLOAD = 0x400454CA, 0x400454D0
CSUM_TSO4_TSO6 = 1 | 2 | 4
MTU = 1500


def hardware(number):
    """The wire finds a frame's host in the last byte."""
    return f"02:00:00:00:00:{number:02x}"


def burst(rate):
    """How much may go at once: 100 us of the link, since a frame is only there when all of it is."""
    return max(2 * MTU, min(65536, rate // 8 // 10000)) if rate else 65536


def choose(bed):
    """Which way; called where a failed attempt harms nobody, in the switch's own namespace."""
    if bed.link == "tc" or bed.link == "auto" and (not bed.delay or _has_netem()):
        return "tc"
    return "wire"


def _has_netem():
    try:
        system.run("tc", "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1ms")
        system.run("tc", "qdisc", "del", "dev", "lo", "root")
        return True
    except NotHere:
        return False


def limits(bed, device):
    """The lines for `tc -batch` that limit what leaves by a device. The wire limits by itself; but a TAP that is full loses
    frames, a full tbf makes its sender wait."""
    parent, lines = "root", []
    if bed.rate:
        lines.append(f"qdisc add dev {device} root handle 1: tbf rate {bed.rate}bit burst {4 * burst(bed.rate)} latency 50ms")
        parent = "parent 1:1"
    if bed.delay and bed.link == "tc":
        lines.append(f"qdisc add dev {device} {parent} handle 2: netem delay {bed.delay}ns limit 100000")
    return "".join(line + "\n" for line in lines)


def bridge():
    system.run("ip", "-batch", "-", words="link set lo up\nlink add switch type bridge\nlink set switch up\n")


def join_bridge(bed, number, process):
    port = f"port{number}"
    system.run("ip", "-batch", "-", words=(
        f"link add {port} type veth peer name eth0 address {hardware(number)} netns {process}\n"
        f"link set {port} gso_max_size {burst(bed.rate)} master switch up\n"))
    if limits(bed, port):
        system.run("tc", "-batch", "-", words=limits(bed, port))


def host_side(bed, number, control):
    """In the host: the interface, its name and address."""
    if bed.link == "wire":
        tap = os.open("/dev/net/tun", os.O_RDWR)
        fcntl.ioctl(tap, TUNSETIFF, struct.pack("16sH14x", b"eth0", TAP | NO_PI | VNET_HDR))
        fcntl.ioctl(tap, TUNSETOFFLOAD, CSUM_TSO4_TSO6)
        socket.send_fds(control, [b"tap"], [tap])
        os.close(tap)
        shape = f"link set eth0 address {hardware(number)}\n"
    else:
        control.sendall(b"link")
        shape = ""
        if control.recv(8) != b"go":
            os._exit(1)
    system.run("ip", "-batch", "-", words=(
        f"link set lo up\n{shape}link set eth0 mtu {MTU} gso_max_size {burst(bed.rate)} up\n"
        f"addr add {settings.address(number)}/24 dev eth0\n"))
    if limits(bed, "eth0"):
        system.run("tc", "-batch", "-", words=limits(bed, "eth0"))


def wire_program(folder):
    """Built by the main build; compiled here where there is none, so that a bed needs no build."""
    here = Path(__file__).resolve().parent.parent
    source = here / "wire.cpp"
    built = Path(os.environ.get("NIGH_HOSTS_WIRE") or here.parent.parent / "build" / "tests" / "hosts_wire")
    if built.exists() and built.stat().st_mtime >= source.stat().st_mtime:
        return str(built)
    compiler = shutil.which(os.environ.get("CXX", "c++"))
    if not compiler:
        raise NotHere("this kernel has no netem, and there is no compiler for our own wire")
    system.run(compiler, "-std=c++20", "-O2", str(source), "-o", os.path.join(folder, "wire"))
    return os.path.join(folder, "wire")


def start_wire(bed, taps):
    command = [wire_program(bed.folder), str(bed.rate), str(bed.delay), *(str(tap) for tap in taps)]
    process = subprocess.Popen(command, pass_fds=taps, stdin=subprocess.DEVNULL, start_new_session=True,
                               preexec_fn=lambda: system.die_with_parent(9))
    for tap in taps:
        os.close(tap)
    return process
