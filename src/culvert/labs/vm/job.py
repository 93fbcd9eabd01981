"""The job of a guest, and the folder that passes it to the guest and returns its output."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from culvert import tools

INHERITED = ("HOME", "LANG", "LC_ALL", "TERM", "COLUMNS", "CULVERT_TOOLS", "NO_COLOR")
"""Environment variables that the command in the guest inherits."""


@dataclass(frozen=True)
class Job:
    """A command, its working directory, its environment, and the folders that it may change."""

    argv: Sequence[str]
    directory: Path
    shares: Sequence[Path] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    terminal: bool = False
    """Whether the command uses this terminal, as a shell does."""


@dataclass(frozen=True)
class Folder:
    """The job folder: shared with the guest, private to this user."""

    path: Path

    @property
    def out(self) -> Path:
        return self.path / "out"

    @property
    def err(self) -> Path:
        return self.path / "err"

    @property
    def console(self) -> Path:
        """Output of the kernel and the first process."""
        return self.path / "console"

    @property
    def init(self) -> Path:
        return self.path / "init"

    def booted(self) -> bool:
        """Whether the guest is about to start the command."""
        return (self.path / "booted").exists()

    def code(self) -> int | None:
        """The command's exit code, once it has ended."""
        try:
            return int((self.path / "code").read_bytes())
        except (FileNotFoundError, ValueError):
            return None

    def stop(self) -> None:
        """Request that the guest ends the command."""
        (self.path / "stop").touch()

    def write(self, job: Job) -> None:
        """Write all files that the guest reads."""
        (self.path / "shares").write_text(
            "".join(f"{share.resolve()}\n" for share in job.shares), encoding="utf-8"
        )
        (self.path / "command").write_text(_script(job), encoding="utf-8")
        shutil.copy(Path(__file__).parent / "guest-init", self.init)
        self.init.chmod(0o755)
        self.out.touch()
        self.err.touch()


@contextmanager
def folder() -> Iterator[Folder]:
    """A job folder that is removed afterwards."""
    path = Path(tempfile.mkdtemp(prefix="culvert-job-"))
    try:
        yield Folder(path)
    finally:
        shutil.rmtree(path, ignore_errors=True)


def _script(job: Job) -> str:
    inherited = {name: os.environ[name] for name in INHERITED if name in os.environ}
    inherited["PATH"] = tools.search_path()  # root, which it is in the guest, has no user's tools
    lines = [
        f"export {name}={shlex.quote(value)}"
        for name, value in {**inherited, **job.environment}.items()
    ]
    return "\n".join([*lines, f"cd {shlex.quote(str(job.directory))}", _exec(job.argv), ""])


def _exec(argv: Sequence[str]) -> str:
    """``culvert`` in the guest is this installation, independently of PATH."""
    words = list(argv)
    if words[0] == "culvert":
        words[:1] = [sys.executable, "-m", "culvert"]
    return f"exec {shlex.join(words)}"
