# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
"""The guest's kernel and base initrd, made once and kept in a cache folder so that later runs need no network.

The kernel is Debian's own package, downloaded by `apt-get download` into a private folder and unpacked there, never
installed: no root is needed. QEMU gets the uncompressed vmlinux (PVH entry), which boots two seconds sooner than the
bzImage. The initrd holds busybox, the few modules that mount the host's / over 9p, and init.sh.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import lzma
import os
import re
import shutil
import struct
import subprocess
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from . import MissingTool, VmError
from .cpio import Archive

PACKAGES = ("linux-image-6.12-amd64", "linux-image-amd64")
MODULES = ("virtio_pci", "9pnet_virtio", "9p", "overlay")
INIT = Path(__file__).resolve().parent.parent / "init.sh"


def cache_folder() -> Path:
    given = os.environ.get("NIGH_VM_CACHE")
    if given:
        return Path(given).resolve()
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "nigh" / "vm"


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """One process prepares, others wait for it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = open(folder / "lock", "w")
    except OSError as error:
        raise VmError(f"{folder}: can't be written ({error.strerror}): set NIGH_VM_CACHE to a folder of yours") from None
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _apt(arguments: list[str], folder: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(arguments, cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL)


def _package_name(folder: Path, options: list[str]) -> str:
    for meta in PACKAGES:
        out = _apt(["apt-cache", *options, "depends", meta], folder).stdout
        found = re.search(r"Depends: (linux-image-[0-9][^\s]*)", out)
        if found:
            return found.group(1)
    return ""


def _private_lists(folder: Path) -> list[str]:
    """apt's state in our own folder: for users without root on a system whose package lists are empty."""
    for name in ("lists/partial", "cache/archives/partial"):
        (folder / "apt" / name).mkdir(parents=True, exist_ok=True)
    options = ["-o", f"Dir::State::lists={folder}/apt/lists", "-o", f"Dir::Cache={folder}/apt/cache"]
    _apt(["apt-get", *options, "-q", "update"], folder)
    return options


def _download(folder: Path) -> Path:
    """The kernel's .deb: the one kept, or a fresh download."""
    kept = sorted(folder.glob("linux-image-*.deb"))
    given = os.environ.get("NIGH_VM_KERNEL_DEB")
    if given:
        kept = [Path(given)]
        if not kept[0].is_file():
            raise MissingTool(f"NIGH_VM_KERNEL_DEB={given}: no such file")
    if kept:
        return kept[-1]
    if shutil.which("apt-get") is None:
        raise MissingTool(
            "no guest kernel: apt-get is not here to download one; put a Debian linux-image package (amd64) at "
            f"{folder} or name it in NIGH_VM_KERNEL_DEB"
        )
    last = ""
    for private in (False, True):
        options = _private_lists(folder) if private else []
        name = _package_name(folder, options)
        if not name:
            continue
        done = _apt(["apt-get", *options, "-q", "download", name], folder)
        kept = sorted(folder.glob("linux-image-*.deb"))
        if done.returncode == 0 and kept:
            return kept[-1]
        last = (done.stderr.strip().splitlines() or [""])[-1]
    raise MissingTool(
        f"no guest kernel: apt-get could not download {' or '.join(PACKAGES)} {f'({last}) ' if last else ''}"
        f"- go on-line once, or put the package into {folder}"
    )


def _vmlinux(image: bytes) -> bytes:
    """The ELF kernel inside a bzImage."""
    sectors = image[0x1F1] or 4
    offset, length = struct.unpack_from("<II", image, 0x248)
    start = (sectors + 1) * 512 + offset
    payload = image[start : start + length]
    if payload.startswith(b"\xfd7zXZ\0"):
        kernel = lzma.LZMADecompressor(lzma.FORMAT_XZ).decompress(payload)
    elif payload.startswith(b"\x1f\x8b"):
        kernel = zlib.decompressobj(31).decompress(payload)
    elif payload.startswith(b"\x28\xb5\x2f\xfd"):
        if shutil.which("zstd") is None:
            raise MissingTool("zstd is not installed, and the guest kernel is packed with it: apt-get install zstd")
        kernel = subprocess.run(["zstd", "-dcq"], input=payload[:-4], stdout=subprocess.PIPE, check=False).stdout
    else:
        raise VmError(f"the guest kernel is packed in a way not known here ({payload[:4]!r})")
    if not kernel.startswith(b"\x7fELF"):
        raise VmError("the guest kernel could not be unpacked: delete the cached package and try again")
    return kernel


def _read_module(path: Path) -> bytes:
    data = path.read_bytes()
    if path.suffix == ".xz":
        return lzma.decompress(data)
    if path.suffix == ".zst":
        return subprocess.run(["zstd", "-dcq"], input=data, stdout=subprocess.PIPE, check=True).stdout
    return data


def _modules(tree: Path) -> dict[str, bytes]:
    """The modules needed, each after those it depends on; what is built into the kernel has no file."""
    files = {p.name.split(".ko")[0].replace("-", "_"): p for p in tree.rglob("*.ko*")}
    made: dict[str, bytes] = {}

    def add(name: str) -> None:
        if name in made or name not in files:
            return
        data = _read_module(files[name])
        found = re.search(rb"\0depends=([^\0]*)\0", data)
        for needed in (found.group(1).decode() if found else "").split(","):
            add(needed.replace("-", "_"))
        made[name] = data

    for name in MODULES:
        add(name.replace("-", "_"))
    return made


def _unpack(deb: Path, folder: Path) -> None:
    """vmlinux and the modules (in loading order) of the package, into `folder`."""
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        done = subprocess.run(["dpkg-deb", "-x", str(deb), scratch], capture_output=True, text=True)
        images = sorted(Path(scratch).glob("boot/vmlinuz-*"))
        if done.returncode != 0 or not images:
            raise VmError(f"{deb}: could not be unpacked as a kernel package: {done.stderr.strip() or 'no vmlinuz'}")
        fresh = Path(scratch) / "fresh"
        (fresh / "modules").mkdir(parents=True)
        (fresh / "vmlinux").write_bytes(_vmlinux(images[-1].read_bytes()))
        modules = _modules(Path(scratch))
        for at, (name, data) in enumerate(modules.items()):
            (fresh / "modules" / f"{at:02}-{name}.ko").write_bytes(data)
        fresh.rename(folder)


def _busybox() -> Path:
    for name in ("/bin/busybox", shutil.which("busybox") or ""):
        if name and Path(name).is_file():
            return Path(name)
    raise MissingTool("busybox is not installed, and the guest starts with it: apt-get install busybox-static")


def _base_initrd(kernel: Path) -> Path:
    busybox = _busybox().read_bytes()
    if b"/lib64/ld-linux" in busybox[:4096]:
        raise MissingTool("busybox here is not static: apt-get install busybox-static")
    key = hashlib.sha256(busybox + INIT.read_bytes()).hexdigest()[:16]
    made = kernel / f"initrd-{key}.cpio"
    if not made.exists():
        archive = Archive()
        for name in ("proc", "sys", "dev", "host", "out", "rw", "new", "lib"):
            archive.folder(name)
        archive.file("bin/busybox", busybox, 0o755)
        archive.file("init", INIT.read_bytes(), 0o755)
        for module in sorted((kernel / "modules").iterdir()):
            archive.file(f"lib/{module.name}", module.read_bytes())
        partial = made.with_suffix(f".{os.getpid()}")
        partial.write_bytes(archive.bytes())
        partial.rename(made)
    return made


def find_qemu() -> str:
    qemu = os.environ.get("NIGH_VM_QEMU") or shutil.which("qemu-system-x86_64")
    if not qemu:
        raise MissingTool("qemu-system-x86_64 is not installed: apt-get install qemu-system-x86")
    return qemu


def prepare() -> tuple[Path, Path]:
    """(vmlinux, base initrd), from the cache or made now."""
    folder = cache_folder()
    with _locked(folder):
        ready = sorted(folder.glob("kernel-*/vmlinux"))
        if not ready or os.environ.get("NIGH_VM_KERNEL_DEB"):
            deb = _download(folder)
            kernel = folder / f"kernel-{deb.name.removesuffix('.deb')}"
            if not (kernel / "vmlinux").exists():
                shutil.rmtree(kernel, ignore_errors=True)
                _unpack(deb, kernel)
        else:
            kernel = ready[-1].parent
        return kernel / "vmlinux", _base_initrd(kernel)
