"""Small repositories whose commits build by a shell script."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

_SOMEBODY = {
    **{
        f"GIT_{who}_{what}": "x@example.org"
        for who in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    },
    "GIT_CONFIG_GLOBAL": "/dev/null",
}


def history(directory: Path, contents: Sequence[str]) -> list[str]:
    """A repository with one commit for each content of the file ``source``; the hashes."""
    directory.mkdir()
    git(directory, "init", "--quiet")
    commits = []
    for number, content in enumerate(contents):
        (directory / "source").write_text(content)
        git(directory, "add", "source")
        git(directory, "commit", "--quiet", "--allow-empty", "--message", f"change {number}")
        commits.append(git(directory, "rev-parse", "HEAD"))
    return commits


def git(directory: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(directory), *words],
        env={**os.environ, **_SOMEBODY},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return done.stdout.strip()
