"""Builds a User Mode Linux kernel with the options that VPNs need, from Debian's kernel source."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path

from culvert import tools
from culvert.debian import Archive, version_numbers
from culvert.errors import CulvertError, UsageError
from culvert.files.plain import read_plain
from culvert.json_text import read_json
from culvert.labs.building import alone, roomy, run_step
from culvert.labs.vm import places

SUITES = ("trixie-backports", "trixie")
TESTED = (7, 2)
"""The preferred series, on which Culvert's tests run; without it the newest is used."""
OLDEST = (6, 16)
"""The first kernel with OpenVPN's data channel (ovpn) in the tree."""
ESSENTIAL = (
    "HOSTFS", "INET_AH", "INET_ESP", "NET_IPGRE", "NET_SCH_NETEM", "NF_TABLES", "OVERLAY_FS",
    "OVPN", "TUN", "VETH", "WIREGUARD", "XFRM_INTERFACE", "XFRM_USER",
)  # fmt: skip
"""Options without which a guest is unusable; newer sources may have removed one of the others."""
PROGRAMS = ("make", "gcc", "flex", "bison", "bc", "xz", "tar")
NEEDS = "apt-get install build-essential flex bison bc xz-utils libelf-dev"
PROGRAM = "linux"
STEPS = 1800
"""Lines that the build of the tested series prints, about."""
BUILDER = {"KBUILD_BUILD_USER": "culvert", "KBUILD_BUILD_HOST": "culvert"}
"""User and host in the kernel's version string, fixed so that they do not reveal the builder's."""
RECORD = "kernel.json"
MOST_RECORD_BYTES = 1 << 16
SPACE_BYTES = 4 << 30

Say = Callable[[str], None]


@dataclass(frozen=True)
class GuestKernel:
    """A built kernel: ``release`` as in uname -r, ``source`` is the package and its version."""

    path: Path
    release: str
    source: str
    config: str
    """SHA-256 of the requested configuration."""
    built_s: float

    @property
    def program(self) -> Path:
        return self.path / PROGRAM


def built() -> GuestKernel | None:
    """The newest built kernel with the current configuration; None if there is none."""
    wanted = _digest(configuration())
    found = [kernel for kernel in _kept() if kernel.config == wanted]
    return max(found, key=lambda kernel: version_numbers(kernel.release), default=None)


def build(say: Say, *, jobs: int | None = None) -> GuestKernel:
    """The kernel; it is built first if missing, which takes a gigabyte and minutes of all CPUs.

    Raises NotPossible if a program is missing, CulvertError if the build fails.
    """
    kernel = built()
    if kernel is not None:
        return kernel
    for program in PROGRAMS:
        tools.require(program, NEEDS)
    with alone(places.kernels()):
        return built() or _build(say, jobs or os.cpu_count() or 1)


def configuration() -> str:
    """The requested options, as text."""
    return resources.files("culvert.labs.vm").joinpath("uml.config").read_text("utf-8")


def _build(say: Say, jobs: int) -> GuestKernel:
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="culvert-kernel-", dir=roomy(SPACE_BYTES)) as scratch:
        work = Path(scratch)
        say("searching for the newest kernel source")
        archive = Archive(work / "apt", SUITES)
        archive.open()
        package, version = _newest(archive)
        say(f"fetching {package} {version}")
        archive.unpack(package, version, work / "package")
        (tarball,) = (work / "package/usr/src").glob("linux-source-*.tar.*")
        _run(["tar", "-xf", str(tarball)], work)
        tarball.unlink()
        (source,) = work.glob("linux-source-*")
        say("configuring")
        _configure(source, work / "out")
        say(f"compiling with {jobs} processes")
        _run(
            ["make", "ARCH=um", f"O={work}/out", f"-j{jobs}", PROGRAM],
            source,
            lambda steps: say(f"{steps} of about {STEPS} steps"),
        )
        _run(["strip", "--strip-debug", PROGRAM], work / "out")
        release = (work / "out/include/config/kernel.release").read_text("utf-8").strip()
        return _keep(work / "out", release, f"{package} {version}", time.monotonic() - began)


def _newest(archive: Archive) -> tuple[str, str]:
    sources = archive.packages(r"linux-source-\d+\.\d+")
    tested = [name for name in sources if version_numbers(name) == TESTED]
    package = max(tested or sources, key=version_numbers, default=None)
    if package is None or version_numbers(package) < OLDEST:
        raise CulvertError(
            "the kernel source",
            f"{package or 'none'} in {', '.join(SUITES)} is older than {OLDEST[0]}.{OLDEST[1]}",
            "build a User Mode Linux kernel by hand and give it with --kernel",
        )
    return package, archive.version(package)


def _configure(source: Path, out: Path) -> None:
    """Switch all options off except the requested ones; an option that the source has but that is
    not set afterwards is an error."""
    out.mkdir()
    requested = out / "requested.config"
    requested.write_text(configuration(), encoding="utf-8")
    _run(["make", "ARCH=um", f"O={out}", f"KCONFIG_ALLCONFIG={requested}", "allnoconfig"], source)
    got = set((out / ".config").read_text("utf-8").splitlines())
    lost = [line for line in options(configuration()) if line not in got]
    known = _known(source) if lost else set()
    wrong = [line for line in lost if _name(line) in known or _name(line) in ESSENTIAL]
    if wrong:
        raise CulvertError(
            "the kernel's configuration",
            f"{', '.join(wrong)} could not be set",
            "report it with the version of the source",
        )


def _known(source: Path) -> set[str]:
    """The options that a source has."""
    found: set[str] = set()
    for kconfig in source.rglob("Kconfig*"):
        if kconfig.is_file():
            text = kconfig.read_text("utf-8", "replace")
            found.update(re.findall(r"^\s*(?:menu)?config\s+(\w+)", text, re.MULTILINE))
    return found


def _name(line: str) -> str:
    return line.removeprefix("CONFIG_").partition("=")[0]


def options(text: str) -> Iterator[str]:
    """The lines that set an option."""
    return (line for line in text.splitlines() if line.startswith("CONFIG_"))


def _keep(out: Path, release: str, source: str, built_s: float) -> GuestKernel:
    config = _digest(configuration())
    target = places.kernels() / f"uml-{release}-{config[:8]}"
    kernel = GuestKernel(target, release, source, config, round(built_s, 1))
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".new-", dir=target.parent) as scratch:
        fresh = Path(scratch) / "kernel"
        fresh.mkdir()
        fresh.chmod(0o755)
        shutil.copy(out / PROGRAM, fresh / PROGRAM)
        shutil.copy(out / ".config", fresh / "config")
        record = {name: value for name, value in asdict(kernel).items() if name != "path"}
        (fresh / RECORD).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        shutil.rmtree(target, ignore_errors=True)
        fresh.rename(target)
    return kernel


def _kept() -> Iterator[GuestKernel]:
    for record in places.found(f"uml-*/{RECORD}"):
        try:
            content = read_json(read_plain(record, MOST_RECORD_BYTES))
            kernel = GuestKernel(record.parent, **content)
        except (OSError, ValueError, TypeError, UsageError):
            continue  # written by another version of Culvert
        if os.access(kernel.program, os.X_OK):
            yield kernel


def _digest(text: str) -> str:
    return hashlib.sha256("\n".join(options(text)).encode()).hexdigest()


def _run(argv: list[str], directory: Path, progress: Callable[[int], None] | None = None) -> None:
    run_step(
        argv,
        directory,
        progress=progress,
        what=f"the kernel's build ({argv[0]})",
        remedy=f"it needs: {NEEDS}",
        environment=BUILDER,
    )
