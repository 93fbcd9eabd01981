"""The git repository of a VPN's source."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from culvert.errors import CulvertError, NotPossible, UsageError

_DEADLINE_S = 600.0
_NO_REPOSITORY = 128
"""Exit code of git where it dies; `rev-parse --quiet` has 1 for a commit that is missing."""
SHORT = 12
"""Digits of a commit for people."""


@dataclass(frozen=True)
class Repository:
    """``directory`` is anywhere in its working tree."""

    directory: Path

    def commit(self, revision: str) -> str:
        """The full hash of a branch, a tag or a commit. Raises UsageError."""
        # Options end before the revision, which may begin with a dash.
        wanted = ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"]
        found = self._git(wanted)
        if found.returncode == 0:
            return found.stdout.strip()
        why, *_ = found.stderr.splitlines() or [f"it is not in the repository {self.directory}"]
        if found.returncode == _NO_REPOSITORY:
            remedy = "give a directory in a git repository that this user may read"
            raise UsageError(f"--repo {self.directory}", why.removeprefix("fatal: "), remedy)
        raise UsageError(
            f'commit "{revision}"',
            why,
            "name a branch, a tag or a commit; in a CI, fetch the whole history",
        )

    def after(self, good: str, bad: str) -> list[str]:
        """The commits after ``good`` up to ``bad``, oldest first; a merge counts as one commit.

        Raises UsageError if ``bad`` does not descend from ``good``.
        """
        first = self._git(["rev-list", "--first-parent", "--reverse", f"{good}..{bad}"])
        if self._git(["merge-base", "--is-ancestor", good, bad]).returncode or not first.stdout:
            raise UsageError(
                f"{good[:SHORT]} and {bad[:SHORT]}",
                "the bad commit does not come after the good one",
                "give the older, good commit first",
            )
        return first.stdout.split()

    def subject(self, commit: str) -> str:
        """Author, date and first line of a commit."""
        return self._git(["log", "-1", "--format=%an, %as: %s", commit]).stdout.strip()

    @contextmanager
    def checked_out(self, commit: str, tree: Path) -> Iterator[None]:
        """A worktree at ``tree`` while the body runs; afterwards its files stay, and the repository
        does not know it any more. Raises CulvertError."""
        added = self._git(["worktree", "add", "--detach", "--force", str(tree), commit])
        if added.returncode:
            raise CulvertError(
                f"commit {commit[:SHORT]}",
                f"it cannot be checked out: {added.stderr.strip()}",
                "repair the repository",
            )
        try:
            yield
        finally:
            (tree / ".git").unlink(missing_ok=True)
            self._git(["worktree", "prune"])

    def _git(self, words: list[str]) -> subprocess.CompletedProcess[str]:
        try:
            return subprocess.run(
                ["git", "-C", str(self.directory), *words],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_DEADLINE_S,
                check=False,
            )
        except FileNotFoundError as error:
            raise NotPossible("git", "is not installed", "apt-get install git") from error
        except subprocess.TimeoutExpired as error:
            raise CulvertError(
                f"git {words[0]}", f"it did not end within {_DEADLINE_S:g} s", "try it by hand"
            ) from error
