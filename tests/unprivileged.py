"""An ordinary user, made by root for a test: no rights, a home of their own, and this checkout.

The interpreter may be where only root can go (below /root). What the user cannot search is covered
by an empty directory that shows the interpreter alone, in a mount namespace of the test's own.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.cli import CULVERT, Said

USER = 5
"""games: no daemon runs as it, while several do as nobody."""
_OTHERS_SEARCH = 0o001
_COVER = """
set -e
closed="$1"; base="$2"; shift 2
if [ -n "$closed" ]; then
    exec 9<"$base"
    mount -t tmpfs -o mode=0755 covered "$closed"
    mkdir -p "$base"
    mount --no-canonicalize --bind /proc/self/fd/9 "$base"
    exec 9<&-
fi
exec setpriv --reuid={user} --regid={user} --clear-groups "$@"
"""


@dataclass(frozen=True)
class User:
    """Someone with a home directory, below which their files are."""

    home: Path
    variables: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def at(cls, home: Path) -> User:
        """Make the home, in a directory that everybody may search."""
        home.mkdir()
        os.chown(home, USER, USER)
        return cls(home)

    def command(self, words: Sequence[str | Path]) -> list[str]:
        """The command line that runs ``words`` as the user."""
        base = Path(sys.base_prefix)
        closed = [
            path for path in reversed(base.parents) if not path.stat().st_mode & _OTHERS_SEARCH
        ]
        cover = ["unshare", "--mount", "sh", "-c", _COVER.format(user=USER), "sh"]
        return [*cover, str(closed[0]) if closed else "", str(base), *map(str, words)]

    def start(self, *words: str | Path) -> subprocess.Popen[bytes]:
        """Start a program; what it says comes through pipes."""
        return subprocess.Popen(
            self.command(words),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self._environment(),
            cwd=self.home,
        )

    def culvert(self, *words: str | Path, timeout_s: float = 120) -> Said:
        """Run the command ``culvert`` to its end."""
        started = self.start(CULVERT, *words)
        try:
            out, err = started.communicate(timeout=timeout_s)
        finally:
            started.kill()
        return Said(
            started.returncode,
            out.decode(errors="surrogateescape"),
            err.decode(errors="surrogateescape"),
        )

    def _environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL") if name in os.environ}
        return {**kept, "HOME": str(self.home), "USER": "games", **self.variables}
