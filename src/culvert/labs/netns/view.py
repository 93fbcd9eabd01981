"""A node's own view of the files: its own /run and /etc/resolv.conf, no secrets of other nodes.

Each program on a node gets a mount namespace with these binds, so that files in /run are visible to
all programs of the node and not to the host.
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
        """Create the directories and files that are bound."""
        self.directory.mkdir(mode=0o700, parents=True)
        run = self.directory / "run"
        for made in (run, run / "lock", run / "wireguard", self.directory / "logs"):
            made.mkdir(mode=0o755)
        # The node's directory must have the same path in the node's view: configuration files name
        # each other by absolute paths.
        self._own_directory_inside().mkdir(parents=True)
        resolver = self.file(str(RESOLV_CONF))
        resolver.parent.mkdir(parents=True, exist_ok=True)
        resolver.write_text("# no resolver in the lab\n")

    def binds(self) -> tuple[tuple[Path, Path], ...]:
        """Pairs of source and mount point, in the order of mounting."""
        binds = [(self.directory / "run", Path("/run"))]
        if not Path("/var/run").is_symlink():
            binds.append((self.directory / "run", Path("/var/run")))
        target = RESOLV_CONF.resolve()
        if target.exists() and not target.is_relative_to("/run"):
            binds.append((self.file(str(RESOLV_CONF)), target))
        return (*binds, (self.directory, self.directory))

    def file(self, path: str) -> Path:
        """The host's path of an absolute path in the view."""
        absolute = Path(path)
        if absolute == RESOLV_CONF:
            # If the host's is a link into /run (systemd-resolved), so is the node's.
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
