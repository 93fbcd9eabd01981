"""Installs an OpenVPN that uses the kernel's data channel, beside the distribution's older one.

::

    TOOLS/openvpn-dco/VERSION/        a newer Debian's openvpn with all its libraries, unpacked
    TOOLS/openvpn-dco/VERSION/run     starts it with its own C library
    TOOLS/bin/openvpn-dco             is a link to it

``python -m culvert.vpns.openvpn.fetch TOOLS``, as the Ansible role calls it.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from culvert.debian import Archive, version_numbers
from culvert.errors import CulvertError
from culvert.labs.netns.this_machine import ThisMachine
from culvert.vpns.authoring import NotPossible
from culvert.vpns.openvpn.program import BESIDE, IN_TREE, drives

PACKAGE = "openvpn"
SUITES = (("trixie-backports", "trixie"), ("testing",))
"""Suites to search, in order: the package's suite, and those of its libraries."""
OLDEST = (2, 7)
_RUN = """#!/bin/sh
exec {root}/{loader} --library-path {root}/{libraries} {root}/usr/sbin/openvpn "$@"
"""


def fetch(tools: Path) -> Path:
    """Download and unpack it into the tools directory; returns the program's path.

    Raises NotPossible without apt, a Debian mirror, or a suite that has it.
    """
    home = tools / BESIDE
    home.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".new-", dir=home) as scratch:
        work = Path(scratch)
        archive, version = _newest(work / "apt")
        archive.unpack_with_libraries(PACKAGE, archive.suites[0], work / "tree")
        target = home / version
        _write_run(work / "tree", target)
        (work / "tree").chmod(0o755)
        shutil.rmtree(target, ignore_errors=True)
        (work / "tree").rename(target)
    program = target / "run"
    if not drives(ThisMachine(), str(program), IN_TREE):
        shutil.rmtree(target)
        raise CulvertError(
            f"OpenVPN {version}",
            "was unpacked, but does not run here or has no data channel offload",
            f"put an OpenVPN of {OLDEST[0]}.{OLDEST[1]} or later on PATH",
        )
    _link(tools / "bin" / BESIDE, program)
    return program


def _newest(apt: Path) -> tuple[Archive, str]:
    for suites in SUITES:
        archive = Archive(apt / suites[0], suites)
        archive.open()
        version = archive.version(PACKAGE)
        if version_numbers(version) >= OLDEST:
            return archive, version
    raise NotPossible(
        f"OpenVPN {OLDEST[0]}.{OLDEST[1]}",
        f"is not in {' or '.join(suites[0] for suites in SUITES)} of this mirror",
        "put one on PATH",
    )


def _write_run(tree: Path, home: Path) -> None:
    """``home`` is the final path of the tree."""
    loaders = sorted(tree.glob("usr/lib*/ld-linux*.so.*"))
    libraries = sorted(tree.glob("usr/lib/*/libc.so.6"))
    if not loaders or not libraries:
        raise CulvertError(str(tree), "holds no C library", "report it with this machine's kind")
    loader, folder = loaders[0].relative_to(tree), libraries[0].parent.relative_to(tree)
    run = tree / "run"
    run.write_text(_RUN.format(root=home, loader=loader, libraries=folder), encoding="utf-8")
    run.chmod(0o755)


def _link(link: Path, target: Path) -> None:
    link.parent.mkdir(parents=True, exist_ok=True)
    fresh = link.with_name(f".{link.name}")
    fresh.unlink(missing_ok=True)
    fresh.symlink_to(target)
    fresh.replace(link)


def main() -> None:
    """Fetch it; print its version, or the reason for the failure."""
    try:
        print(fetch(Path(sys.argv[1])).parent.name)
    except CulvertError as error:
        sys.exit(f"{error}; {error.remedy}")


if __name__ == "__main__":
    main()
