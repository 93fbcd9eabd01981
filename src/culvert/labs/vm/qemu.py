"""QEMU with a distribution's kernel: with KVM at the machine's speed, with TCG on any machine."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from culvert import tools
from culvert.labs.vm import boots
from culvert.labs.vm.cloud import CloudKernel, fetched
from culvert.labs.vm.hypervisor import Hypervisor
from culvert.labs.vm.job import Folder

DEVICE = Path("/dev/kvm")
MEMORY = "2G"
PROGRAM = f"qemu-system-{platform.machine()}"
FILE_SERVERS = (Path("/usr/libexec/virtiofsd"), Path("/usr/lib/qemu/virtiofsd"))
NEEDS = "apt-get install qemu-system-x86 virtiofsd"


class _Qemu(Hypervisor):
    """The root is this machine's over virtiofs, so the kernel needs no initramfs."""

    accelerator: ClassVar[str]
    processor: ClassVar[str]

    def __init__(self, kernel: CloudKernel | None = None) -> None:
        self._kernel = kernel or fetched()

    def missing(self) -> str | None:
        """Checks QEMU, its file server, a kernel, and for KVM the device."""
        if tools.find(PROGRAM) is None:
            return f"{PROGRAM} is not installed: {NEEDS}"
        if _file_server() is None:
            return f"virtiofsd is not installed: {NEEDS}"
        if self._kernel is None:
            return f"no kernel has been fetched: culvert vm build --hypervisor {self.name}"
        return None

    @property
    def kernel(self) -> str:
        return self._kernel.release if self._kernel is not None else "none"

    def helpers(self, folder: Folder, shares: Sequence[str]) -> Sequence[Sequence[str]]:
        """One file server for each share: the root, the job folder, and the writable folders."""
        server = _file_server()
        sources = dict(zip(_tags(len(shares)), ("/", str(folder.path), *shares), strict=True))
        return [
            [
                str(server),
                f"--socket-path={folder.path}/{tag}.sock",
                "-o",
                f"source={source}",
                "-o",
                "sandbox=" + ("chroot" if os.geteuid() == 0 else "none"),
                "-o",
                "cache=" + ("always" if tag == "root" else "auto"),
            ]
            for tag, source in sources.items()
        ]

    def awaited(self, folder: Folder, shares: int) -> Sequence[Path]:
        return [folder.path / f"{tag}.sock" for tag in _tags(shares)]

    def command(self, folder: Folder, *, terminal: bool, shares: int) -> Sequence[str]:
        """A machine without disk, display and network."""
        assert self._kernel is not None  # checked by missing()
        cpus = len(os.sched_getaffinity(0))
        argv = [str(tools.find(PROGRAM)), "-accel", self.accelerator, "-machine", "q35"]
        argv += ["-cpu", self.processor, "-smp", str(cpus), "-m", MEMORY]
        argv += ["-nodefaults", "-no-user-config", "-nographic", "-no-reboot", "-serial", "stdio"]
        argv += ["-device", "virtio-rng-pci", "-numa", "node,memdev=mem"]
        argv += ["-object", f"memory-backend-memfd,id=mem,size={MEMORY},share=on"]
        for tag in _tags(shares):
            argv += ["-chardev", f"socket,id={tag},path={folder.path}/{tag}.sock"]
            argv += ["-device", f"vhost-user-fs-pci,queue-size=1024,chardev={tag},tag={tag}"]
        words = [
            "console=ttyS0",
            "quiet",
            "panic=-1",
            "rootfstype=virtiofs",
            "root=root",
            "ro",
            f"init={folder.init}",
            f"culvert.job={folder.path}",
            "culvert.share=virtiofs",
            f"culvert.modules={self._kernel.modules}",
            f"culvert.python={sys.executable}",
            *(["culvert.terminal=ttyS0"] if terminal else []),
        ]
        return [*argv, "-kernel", str(self._kernel.image), "-append", " ".join(words)]


class Kvm(_Qemu):
    """Speeds are those of the machine."""

    name = "kvm"
    comparable = True
    boot_deadline_s = 60.0
    accelerator = "kvm"
    processor = "host"

    def missing(self) -> str | None:
        """Also checks that this user may open the device."""
        if not os.access(DEVICE, os.R_OK | os.W_OK):
            return f"{DEVICE} is not usable by this user: add the user to the group kvm"
        return super().missing()

    def refusal(self) -> str | None:
        """On some machines the device exists but no guest boots."""
        program = tools.find(PROGRAM)
        image = self._kernel.image if self._kernel is not None else None
        return boots.refusal(self, [DEVICE, *filter(None, (program, image))])


class Tcg(_Qemu):
    """Translates all code, which is about eighteen times slower: the last choice."""

    name = "tcg"
    comparable = False
    boot_deadline_s = 180.0
    accelerator = "tcg,thread=multi"
    processor = "max"


def _tags(shares: int) -> list[str]:
    """Of the root, the job folder, and the writable folders."""
    return ["root", "job", *(f"share{number}" for number in range(shares))]


def _file_server() -> Path | None:
    return next((path for path in FILE_SERVERS if os.access(path, os.X_OK)), None)
