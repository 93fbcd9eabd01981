"""The source distribution: what is committed, with equal bytes from equal commits."""

from __future__ import annotations

import gzip
import io
import subprocess
import tarfile
from dataclasses import dataclass
from pathlib import Path

from release.backend import BackendCall, call

ROOT = Path(__file__).parent.parent


@dataclass(frozen=True)
class Source:
    """``archive`` in the directory of the release; ``tree`` is its unpacked content."""

    archive: Path
    tree: Path

    @property
    def version(self) -> str:
        """As in the archive's name."""
        return self.archive.name.removeprefix("culvert-").removesuffix(".tar.gz")


def git(*words: str) -> str:
    """What git prints about the repository."""
    argv = ["git", "-C", str(ROOT), *words]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.strip()


def make_source(out_dir: Path, work_dir: Path, epoch_s: int) -> Source:
    """Pack HEAD; ``work_dir`` gets a clone and the unpacked archive."""
    clone = work_dir / "clone"
    git("clone", "--quiet", "--shared", str(ROOT), str(clone))
    packed = work_dir / "packed"
    packed.mkdir()
    name = call(BackendCall.SDIST, clone, packed, {})
    archive = out_dir / name
    archive.write_bytes(_repacked(packed / name, epoch_s))
    # tarfile's filters are missing from Python 3.11.2, which Debian has.
    subprocess.run(["tar", "-xzf", str(archive), "-C", str(work_dir)], check=True)
    return Source(archive, work_dir / name.removesuffix(".tar.gz"))


def _repacked(archive: Path, epoch_s: int) -> bytes:
    """The same members in order of their names, without the builder's clock, name and umask."""
    packed, buffer = io.BytesIO(), io.BytesIO()
    with tarfile.open(archive) as old, tarfile.open(fileobj=packed, mode="w") as new:
        for member in sorted(old.getmembers(), key=lambda one: one.name):
            member.mtime, member.uid, member.gid = epoch_s, 0, 0
            member.uname = member.gname = ""
            member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
            member.pax_headers = {}
            new.addfile(member, old.extractfile(member) if member.isfile() else None)
    with gzip.GzipFile(filename="", fileobj=buffer, mode="wb", mtime=epoch_s) as zipped:
        zipped.write(packed.getvalue())
    return buffer.getvalue()
