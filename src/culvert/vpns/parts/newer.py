"""Programs of a newer Debian, unpacked beside the distribution's with all their libraries.

::

    TOOLS/NAME/VERSION/           the packages, unpacked
    TOOLS/NAME/VERSION/PROGRAM    starts a program with its own C library
    TOOLS/bin/PROGRAM             is a link to it
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from culvert.debian import Archive, version_numbers
from culvert.errors import CulvertError, NotPossible

SUITES = (("trixie-backports", "trixie"), ("testing",))
"""Suites to search, in order: the packages' suite, and those of their libraries."""
_RUN = """#!/bin/sh
cd {root}/{folder} && exec {root}/{loader} --library-path {libraries} {root}/{program} "$@"
"""


@dataclass(frozen=True)
class Newer:
    """``packages``: the first has the version, which is ``oldest`` or later; ``programs``: by the
    names of their links, their paths in the packages. ``folder`` is where they start, and
    ``libraries`` are folders of libraries beside the C library's."""

    name: str
    title: str
    packages: Sequence[str]
    programs: Mapping[str, str]
    oldest: tuple[int, ...]
    folder: str = "."
    libraries: Sequence[str] = ()

    def fetch(
        self,
        tools: Path,
        why_not: Callable[[Path], str | None],
        move: Callable[[Path], None] = lambda _: None,
    ) -> str:
        """Download and unpack them into the tools directory; returns the version.

        ``move`` adapts the unpacked tree to its place; ``why_not`` looks at the tree in its place,
        and returns why it is of no use here. Raises NotPossible without apt, a Debian mirror, or a
        suite that has them.
        """
        home = tools / self.name
        home.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".new-", dir=home) as scratch:
            work = Path(scratch)
            archive, version = self._newest(work / "apt")
            archive.unpack_with_libraries(self.packages, archive.suites[0], work / "tree")
            target = home / version
            move(work / "tree")
            for link, program in self.programs.items():
                self._write_run(work / "tree", target, link, program)
            (work / "tree").chmod(0o755)
            shutil.rmtree(target, ignore_errors=True)
            (work / "tree").rename(target)
        if (reason := why_not(target)) is not None:
            shutil.rmtree(target)
            needed = ".".join(map(str, self.oldest))
            raise CulvertError(
                f"{self.title} {version}",
                f"was unpacked, but {reason}",
                f"put {' and '.join(self.programs)} of {needed} or later on PATH",
            )
        for link in self.programs:
            _link(tools / "bin" / link, target / link)
        return version

    def main(self, fetch: Callable[[Path], str]) -> None:
        """Fetch into the tools directory of the command line; print the version, or the reason for
        the failure."""
        try:
            print(fetch(Path(sys.argv[1])))
        except CulvertError as error:
            sys.exit(f"{error}; {error.remedy}")

    def _newest(self, apt: Path) -> tuple[Archive, str]:
        for suites in SUITES:
            archive = Archive(apt / suites[0], suites)
            archive.open()
            version = archive.version(self.packages[0])
            if version_numbers(version) >= self.oldest:
                return archive, version
        raise NotPossible(
            f"{self.title} {'.'.join(map(str, self.oldest))}",
            f"is not in {' or '.join(suites[0] for suites in SUITES)} of this mirror",
            f"put {' and '.join(self.programs)} on PATH",
        )

    def _write_run(self, tree: Path, home: Path, link: str, program: str) -> None:
        """``home`` is the final path of the tree."""
        loaders = sorted(tree.glob("usr/lib*/ld-linux*.so.*"))
        libraries = sorted(tree.glob("usr/lib/*/libc.so.6"))
        if not loaders or not libraries:
            raise CulvertError(
                str(tree), "holds no C library", "report it with this machine's kind"
            )
        folders = [str(libraries[0].parent.relative_to(tree)), *self.libraries]
        run = tree / link
        run.write_text(
            _RUN.format(
                root=home,
                folder=self.folder,
                loader=loaders[0].relative_to(tree),
                libraries=":".join(f"{home}/{each}" for each in folders),
                program=program,
            ),
            encoding="utf-8",
        )
        run.chmod(0o755)


def _link(link: Path, target: Path) -> None:
    link.parent.mkdir(parents=True, exist_ok=True)
    fresh = link.with_name(f".{link.name}")
    fresh.unlink(missing_ok=True)
    fresh.symlink_to(target)
    fresh.replace(link)
