"""Builds of commits, kept in the user's cache: ``~/.cache/culvert/builds/COMMIT-COMMAND/``.

A build is made in a worktree of the user's repository outside of its working tree, which is not
touched. The tree stays, because a VPN may need other files than its programs.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

from culvert.errors import CulvertError, UsageError
from culvert.files.target import locked
from culvert.study.builds import BuildTable
from culvert.tools import cache_directory
from culvert.versions.repository import SHORT, Repository

_DEADLINE_S = 3600.0
_DONE = "built"
"""A file that the directory of a complete build has."""
_LOG = "build.log"
_LAST_LINES = 5


class BuildError(CulvertError):
    """A commit that does not build."""


@dataclass(frozen=True)
class Builder:
    """``command`` is run by a shell at the root of the tree; ``programs`` is the directory with the
    VPN's programs in it, relative to the root."""

    repository: Repository
    command: str
    programs: str = "."

    def build(self, revision: str) -> BuildTable:
        """Build a commit, unless it is in the cache. Raises UsageError, or BuildError with the
        command's last lines."""
        commit = self.repository.commit(revision)
        key = hashlib.sha256(self.command.encode()).hexdigest()
        place = cache_directory() / "builds" / f"{commit}-{key[:8]}"
        tree = place / "tree"
        with locked(place.with_name(f"{place.name}.lock")):
            if not (place / _DONE).exists():
                shutil.rmtree(place, ignore_errors=True)
                place.mkdir()
                with self.repository.checked_out(commit, tree):
                    self._run(commit, tree, place / _LOG)
                (place / _DONE).touch()
        programs = (tree / self.programs).resolve()
        if not programs.is_relative_to(tree.resolve()) or not programs.is_dir():
            raise UsageError(
                f"--programs {self.programs}",
                f"commit {commit[:SHORT]} has no such directory once it is built",
                "give the directory of the programs, relative to the root of the source",
            )
        return BuildTable(programs=str(programs), commit=commit)

    def _run(self, commit: str, tree: Path, log: Path) -> None:
        with log.open("wb") as sink:
            running = subprocess.Popen(
                ["/bin/sh", "-c", self.command],
                cwd=tree,
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                code = running.wait(_DEADLINE_S)
            except BaseException as error:  # Ctrl-C too: compilers of a session of their own go on
                os.killpg(running.pid, signal.SIGKILL)
                running.wait()
                if isinstance(error, subprocess.TimeoutExpired):
                    why = f"'{self.command}' did not end within {_DEADLINE_S:g} s"
                    raise BuildError(f"commit {commit[:SHORT]}", why, f"see {log}") from error
                raise
        if code:
            said = log.read_text(errors="replace").strip().splitlines()[-_LAST_LINES:]
            raise BuildError(
                f"commit {commit[:SHORT]}",
                f"'{self.command}' ended with exit code {code}: {' / '.join(said) or 'no output'}",
                f"see {log}",
            )
