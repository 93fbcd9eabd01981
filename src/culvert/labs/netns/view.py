"""A node's own view of the files: its /run, its /etc/resolv.conf, and nobody else's secrets.

Each program on a node gets a mount namespace with these binds, so that what one writes to /run
the other programs of the node see, and the host does not.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

RESOLV_CONF = Path("/etc/resolv.conf")


@dataclass(frozen=True)
class NodeView:
    """``directory`` is the node's own; /run inside is ``directory``/run."""

    directory: Path

    def make(self) -> None:
        """Make the directories and files that are bound."""
        self.directory.mkdir(mode=0o700, parents=True)
        run = self.directory / "run"
        for made in (run, run / "lock", run / "wireguard", self.directory / "logs"):
            made.mkdir(mode=0o755)
        # The node's directory must be where it is in the node's view too: configuration files
        # name each other by absolute paths.
        self._own_directory_inside().mkdir(parents=True)
        resolver = self.file(str(RESOLV_CONF))
        resolver.parent.mkdir(parents=True, exist_ok=True)
        resolver.write_text("# no resolver in the lab\n")

    def binds(self) -> tuple[tuple[Path, Path], ...]:
        """Pairs of what is shown and where, in the order in which they are mounted."""
        binds = [(self.directory / "run", Path("/run"))]
        if not Path("/var/run").is_symlink():
            binds.append((self.directory / "run", Path("/var/run")))
        target = RESOLV_CONF.resolve()
        if target.exists() and not target.is_relative_to("/run"):
            binds.append((self.file(str(RESOLV_CONF)), target))
        return (*binds, (self.directory, self.directory))

    def file(self, path: str) -> Path:
        """Where an absolute path of the view is on the host."""
        absolute = Path(path)
        if absolute == RESOLV_CONF:
            # Where the host's is a link into /run (systemd-resolved), so is the node's.
            target = RESOLV_CONF.resolve()
            inside_run = target.is_relative_to("/run")
            return self.file(str(target)) if inside_run else self.directory / "etc/resolv.conf"
        if absolute.is_relative_to(self.directory):
            return absolute
        for root in ("/run", "/var/run"):
            if absolute.is_relative_to(root):
                return self.directory / "run" / absolute.relative_to(root)
        return absolute

    def _own_directory_inside(self) -> Path:
        return self.directory / "run" / self.directory.relative_to("/run")
