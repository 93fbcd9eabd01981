"""Debian's cloud kernel for QEMU, fetched and unpacked but not installed."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from culvert import tools
from culvert.debian import Archive, version_numbers
from culvert.errors import CulvertError, UsageError
from culvert.labs.building import run_step
from culvert.labs.vm import places

SUITES = ("trixie-backports", "trixie")


@dataclass(frozen=True)
class CloudKernel:
    """An image, and the folder with its modules."""

    image: Path
    modules: Path

    @property
    def release(self) -> str:
        return self.modules.name

    @classmethod
    def at(cls, path: Path) -> CloudKernel:
        """The kernel in an unpacked package, or in the root of a system. Raises UsageError if
        ``path`` is neither."""
        for modules in sorted(path.glob("lib/modules/*"), reverse=True):
            release = modules.name
            for image in (path / f"boot/vmlinuz-{release}", modules / "vmlinuz"):
                if image.exists():
                    return cls(image, modules)
        raise UsageError(
            f"the kernel in {path}",
            "it has no lib/modules/RELEASE with a vmlinuz there or in boot/",
            "unpack a kernel package: dpkg-deb --extract linux-image-... DIR",
        )


def fetched() -> CloudKernel | None:
    """The newest fetched kernel; None if there is none."""
    found = sorted(places.found("cloud-*"), key=lambda path: version_numbers(path.name))
    return CloudKernel.at(found[-1]) if found else None


def fetch(say: Callable[[str], None]) -> CloudKernel:
    """The newest cloud kernel of Debian's backports, fetched if it is missing.

    Raises NotPossible if a program is missing, CulvertError if there is none or the download fails.
    """
    depmod = tools.require("depmod", "apt-get install kmod")
    places.kernels().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".new-", dir=places.kernels()) as scratch:
        archive = Archive(Path(scratch) / "apt", SUITES)
        archive.open()
        pattern = r"linux-(?:image|binary)-\d+\.\d+[^-]*\+deb\d+-cloud-amd64"
        package = max(archive.packages(pattern), key=version_numbers, default=None)
        if package is None:
            raise CulvertError(
                "the kernel for QEMU",
                f"{', '.join(SUITES)} have no cloud kernel",
                "unpack another kernel's package, and give its folder with --kernel",
            )
        version = archive.version(package)
        target = places.kernels() / f"cloud-{package.split('-', 2)[2]}"
        for kept in places.found(target.name):
            return CloudKernel.at(kept)
        say(f"fetching {package} {version}")
        tree = Path(scratch) / "tree"
        for part in ("base", "binary", "modules", "image"):
            name = re.sub(r"^linux-(image|binary)", f"linux-{part}", package)
            if archive.packages(re.escape(name)):
                archive.unpack(name, archive.version(name), tree)
        if not (tree / "lib").exists():
            (tree / "lib").symlink_to("usr/lib")
        release = CloudKernel.at(tree).release
        run_step(
            [str(depmod), "-b", str(tree), release],
            Path(scratch),
            what=f"the kernel {release}",
            remedy="run `culvert vm build` again",
        )
        tree.chmod(0o755)
        shutil.rmtree(target, ignore_errors=True)
        tree.rename(target)
    return CloudKernel.at(target)
