# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
"""Boots a Guest under QEMU, runs commands in it, and believes nothing before the guest's own /sys agrees.

Each run has a folder of its own (two runs never meet), shared with the guest at /out. A command's stdout and stderr
are files there, relayed as they grow; the kernel's console is a third file, shown only when something went wrong.
QEMU dies with us, however we end: it is killed on every way out, and the kernel kills it if we are killed.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Optional

from . import MissingTool, VmError, acpi, kernel, verify
from .counting import Count, check_refusal
from .cpio import Archive
from .model import Guest

INSIDE = "/out"


class _TimeOut(VmError):
    """The guest came up, or did not, but took longer than it may."""


@dataclass
class Command:
    """A shell line (or an argument list) to run in the guest."""

    line: str
    env: dict[str, str] = field(default_factory=dict)
    inherit: bool = True  # the caller's environment is passed on

    @staticmethod
    def of(arguments: list[str], **more: object) -> "Command":
        return Command(shlex.join(arguments), **more)  # type: ignore[arg-type]

    def script(self, cwd: str) -> str:
        env = (dict(os.environ) if self.inherit else {"PATH": os.environ.get("PATH", "/usr/bin:/bin")}) | self.env
        env = {"HOME": "/root"} | env | {"NUMA_VM_OUT": INSIDE}
        names = re.compile(r"[A-Za-z_]\w*\Z")
        lines = [f"export {key}={shlex.quote(value)}" for key, value in sorted(env.items()) if names.match(key)]
        return "\n".join([*lines, f"cd {shlex.quote(cwd)} || exit 126", self.line, ""])


@dataclass
class Options:
    mem_per_node: int = 256  # MiB
    timeout: float = 300.0
    numa_balancing: bool = False
    console: bool = False
    relay: bool = False  # commands' output to our own stdout and stderr, as it comes
    accel: str = "tcg"
    cpu: str = "max,vendor=GenuineIntel,family=6,model=85,stepping=4"
    kernel_args: str = ""
    out: Optional[Path] = None  # keep the output here
    files: dict[str, bytes] = field(default_factory=dict)  # laid into /out before the start
    count: Optional[Count] = None  # have QEMU count memory accesses: counting.read(out) gives them


@dataclass
class Result:
    status: int
    out: str
    err: str


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def _sweep(base: Path) -> None:
    """Folders of runs that were killed outright."""
    for left in base.glob("numa-vm-*-*"):
        pid = left.name.split("-")[2]
        with contextlib.suppress(FileNotFoundError):  # another run sweeps it up, too
            if pid.isdigit() and not _alive(int(pid)) and left.stat().st_uid == os.getuid():
                shutil.rmtree(left, ignore_errors=True)


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    base = Path(tempfile.gettempdir())
    _sweep(base)
    made = Path(tempfile.mkdtemp(prefix=f"numa-vm-{os.getpid()}-", dir=base))
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _tsc_khz() -> int:
    """The host's clock: a guest on a busy host would calibrate its own up to four times too fast."""
    try:
        found = re.search(r"bogomips\s*:\s*([\d.]+)", Path("/proc/cpuinfo").read_text())
    except OSError:
        found = None
    return int(float(found.group(1)) * 500) if found else 0


# Start-up work that no program in a guest sees, left out because emulation makes it slow.
_NOT_AT_BOOT = "jent_mod_init,load_system_certificate_list,bpf_dummy_struct_ops_init,bpf_tcp_ca_kfunc_init"


def _kernel_line(guest: Guest, options: Options) -> str:
    khz = _tsc_khz()
    words = ["console=ttyS0", "quiet", "loglevel=3", "nokaslr", "mitigations=off", "no_timer_check"]
    words += ["cryptomgr.notests", "panic=-1", "tsc=reliable", "random.trust_cpu=on"]
    words += [f"initcall_blacklist={_NOT_AT_BOOT}", "rcupdate.rcu_expedited=1", "audit=0", "apparmor=0"]
    if khz:
        words += [f"tsc_early_khz={khz}", f"lpj={khz * 4}"]
    words.append(f"numa_vm.cpus={len(guest.pus)}")
    words.append(f"numa_balancing={'enable' if options.numa_balancing else 'disable'}")
    return " ".join(words + options.kernel_args.split())


def _qemu_line(guest: Guest, options: Options, folder: Path, vmlinux: Path) -> list[str]:
    packages, dies, cores, threads = guest.shape()
    smp = f"{packages * dies * cores * threads},sockets={packages},dies={dies},cores={cores},threads={threads}"
    accel = "tcg,thread=single" if options.accel == "tcg" else options.accel
    line = [kernel.find_qemu(), "-accel", accel, "-machine", "q35", "-smp", smp]
    line += ["-cpu", options.cpu + ("" if guest.shared_l3 else ",l3-cache=off")]
    line += ["-m", f"{options.mem_per_node * len(guest.nodes)}M"]
    line += ["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-monitor", "none"]
    line += ["-serial", f"file:{folder}/console", "-device", "isa-debug-exit,iobase=0xf4,iosize=0x4"]
    line += ["-fsdev", "local,id=root,path=/,security_model=none,readonly=on,multidevs=remap"]
    line += ["-device", "virtio-9p-pci,fsdev=root,mount_tag=hostroot"]
    line += ["-fsdev", f"local,id=out,path={folder}/out,security_model=none"]
    line += ["-device", "virtio-9p-pci,fsdev=out,mount_tag=out"]
    if options.count is not None:
        line += options.count.words(guest, options.mem_per_node, folder / "out")
    return [*line, "-kernel", str(vmlinux), "-initrd", f"{folder}/initrd", "-append", _kernel_line(guest, options)]


def _write_inputs(guest: Guest, commands: list[Command], options: Options, folder: Path) -> Path:
    vmlinux, base = kernel.prepare()
    head = Archive()
    sizes = [options.mem_per_node * acpi.MIB] * len(guest.nodes)
    for name, table in acpi.tables(guest, sizes).items():
        head.file(f"kernel/firmware/acpi/{name}", table)
    (folder / "initrd").write_bytes(head.bytes() + base.read_bytes())
    scripts = folder / "out" / "cmd"
    scripts.mkdir(parents=True)
    for name, data in options.files.items():
        (folder / "out" / name).write_bytes(data)
    for at, command in enumerate(commands):
        (scripts / f"{at:04}.sh").write_text(command.script(os.getcwd()))
    return vmlinux


class _Relay:
    """Passes on what has been added to the output files since the last look."""

    def __init__(self, folder: Path, count: int, options: Options) -> None:
        self._at: dict[Path, int] = {}
        self._files: list[tuple[Path, BinaryIO]] = []
        if options.relay:
            for at in range(count):
                self._files.append((folder / "out" / f"{at:04}.out", sys.stdout.buffer))
                self._files.append((folder / "out" / f"{at:04}.err", sys.stderr.buffer))
        if options.console:
            self._files.append((folder / "console", sys.stderr.buffer))

    def look(self) -> None:
        for path, to in self._files:
            try:
                with open(path, "rb") as file:
                    file.seek(self._at.get(path, 0))
                    data = file.read()
            except FileNotFoundError:
                continue
            if data:
                self._at[path] = self._at.get(path, 0) + len(data)
                to.write(data)
                to.flush()


def _wait(qemu: "subprocess.Popen[bytes]", relay: _Relay, timeout: float) -> bool:
    """False when the time ran out."""
    end = time.monotonic() + timeout
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            qemu.wait(0.05)
        relay.look()
        if qemu.returncode is not None:
            return True
        if time.monotonic() > end:
            return False


def _tail(folder: Path, lines: int = 25) -> str:
    try:
        text = (folder / "console").read_text(errors="replace")
    except OSError:
        text = ""
    kept = text.replace("\r", "").strip().splitlines()[-lines:]
    return "\n".join(["the guest's console ends with:"] + [f"  | {line}" for line in kept]) if kept else ""


def _results(folder: Path, count: int) -> list[Result]:
    results = []
    for at in range(count):
        stem = folder / "out" / f"{at:04}"
        try:
            status = int(Path(f"{stem}.status").read_text())
        except (OSError, ValueError):
            break
        texts = [Path(f"{stem}.{end}").read_text(errors="replace") for end in ("out", "err")]
        results.append(Result(status, *texts))
    return results


def _boot(guest: Guest, count: int, options: Options, folder: Path, vmlinux: Path) -> None:
    with open(folder / "qemu.log", "wb") as log:
        qemu = subprocess.Popen(
            _qemu_line(guest, options, folder, vmlinux),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            preexec_fn=_die_with_parent,
        )
    try:
        ended = _wait(qemu, _Relay(folder, count, options), options.timeout)
    finally:
        if qemu.poll() is None:
            qemu.kill()
        qemu.wait()
    if not ended:
        raise _TimeOut(f"the guest was not done after {options.timeout:g} s and was ended (--timeout)\n{_tail(folder)}")
    said = (folder / "qemu.log").read_text(errors="replace").strip()
    if not (folder / "out" / "guest").exists():
        if options.count is not None:
            check_refusal(said)
        raise VmError(f"the guest did not come up: {said or f'QEMU ended with {qemu.returncode}'}\n{_tail(folder)}")


def _come_up(guest: Guest, count: int, options: Options, folder: Path, vmlinux: Path) -> None:
    """Boots, and boots once more where the guest fell short of its model before any command had begun.

    Emulation on a busy host now and then loses a CPU at boot, or the whole guest; nothing has been run by then.
    """
    for again in (True, False):
        try:
            _boot(guest, count, options, folder, vmlinux)
            verify.check(guest, options.mem_per_node, (folder / "out" / "guest").read_text())
            return
        except (_TimeOut, MissingTool):
            raise
        except VmError as error:
            if not again or (folder / "out" / "0000.out").exists():
                raise
            print(f"numa-vm: {str(error).splitlines()[0]}; booting once more", file=sys.stderr)
            (folder / "out" / "guest").unlink(missing_ok=True)
            time.sleep(2)  # what was short may be there again


def run(guest: Guest, commands: list[Command], options: Options) -> list[Result]:
    """Boots once, runs the commands one after the other, and gives the result of each."""
    acpi.check_limits(guest)
    if options.mem_per_node < 64:
        raise VmError("--mem-per-node must be at least 64 (MiB)")
    with _folder() as folder:
        vmlinux = _write_inputs(guest, commands, options, folder)
        try:
            _come_up(guest, len(commands), options, folder, vmlinux)
        finally:
            if options.out is not None:
                shutil.copytree(folder / "out", options.out, dirs_exist_ok=True)
                with contextlib.suppress(OSError):
                    shutil.copy(folder / "console", options.out / "console")
        results = _results(folder, len(commands))
        if len(results) < len(commands):
            raise VmError(
                f"the guest ended before command {len(results) + 1} of {len(commands)} was done\n{_tail(folder)}"
            )
        return results
