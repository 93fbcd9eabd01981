"""A node's own view of the files: its own /run, /tmp and /etc/resolv.conf, no secrets of other
nodes.

Each program on a node gets a mount namespace with these binds, so that files in /run are visible to
all programs of the node and not to the host. Of a file that a VPN changes at a fixed path the node
has a copy; a directory is an overlay: the host's files, below the node's changes in a tmpfs. So are
directories that all can write to, through which programs of two nodes could exchange data.
"""

from __future__ import annotations

import errno
import shutil
import stat
from dataclasses import dataclass, replace
from pathlib import Path

from culvert.labs.namespace import syscalls
from culvert.privilege import machine_proc

RESOLV_CONF = Path("/etc/resolv.conf")
TEMPORARY = (Path("/tmp"), Path("/var/tmp"))  # noqa: S108  each node has its own
SHARED_MEMORY = Path("/dev/shm")  # noqa: S108


@dataclass(frozen=True)
class Bind:
    """``source`` is seen at ``target``; the machine's are only ``shown``, and not changed."""

    source: Path
    target: Path
    shown: bool = False

    def __str__(self) -> str:
        """The argument for ``culvert-probe exec``."""
        return f"{self.source}:{self.target}{':ro' if self.shown else ''}"


@dataclass(frozen=True)
class NodeView:
    """``directory`` is the node's own; /run inside is ``directory``/run."""

    directory: Path
    kept: tuple[Path, ...] = ()
    """Files of the host with a copy on the node, directories with the node's changes over them."""

    def make(self) -> None:
        """Create the directories and files that are bound."""
        self.directory.mkdir(mode=0o700, parents=True)
        run = self.directory / "run"
        for made in (run, run / "lock", run / "wireguard", self.directory / "logs"):
            made.mkdir(mode=0o755)
        if machine_proc().is_relative_to("/run"):
            self.file(str(machine_proc())).mkdir()
        # The node's directory must have the same path in the node's view: configuration files name
        # each other by absolute paths.
        self._own_directory_inside().mkdir(parents=True)
        resolver = self.file(str(RESOLV_CONF))
        resolver.parent.mkdir(parents=True, exist_ok=True)
        resolver.write_text("# no resolver in the lab\n")

    def apart(self) -> NodeView:
        """The view in which the directories that all can write to are the node's own. The host's
        temporary files are seen, unless the kernel cannot mount an overlay."""
        view = self._with_own(SHARED_MEMORY) if SHARED_MEMORY.exists() else self
        for path in TEMPORARY:
            try:
                view = view.keeping(path)
            except OSError:
                view = view._with_own(path)
        return view

    def _with_own(self, path: Path) -> NodeView:
        """An empty directory with the permissions of the host's."""
        place = self._kept(path)
        place.mkdir(parents=True, exist_ok=True)
        place.chmod(stat.S_IMODE(path.stat().st_mode))
        return replace(self, kept=(*self.kept, path))

    def keeping(self, path: Path) -> NodeView:
        """The view in which an existing file, or what is changed directly in an existing directory,
        is the node's own. Raises OSError if the kernel cannot mount an overlay."""
        if path in self.kept:
            return self
        place = self._kept(path)
        if path.is_dir():
            _overlay(path, place, self.directory / "kept" / place.name)
        else:
            place.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
            shutil.copy(path, place)
        return replace(self, kept=(*self.kept, path))

    def binds(self) -> tuple[Bind, ...]:
        """In the order of mounting."""
        # A directory before what is in it.
        binds = [Bind(self._kept(each), each) for each in sorted(self.kept)]
        binds.append(Bind(self.directory / "run", Path("/run")))
        if not Path("/var/run").is_symlink():
            binds.append(Bind(self.directory / "run", Path("/var/run")))
        target = RESOLV_CONF.resolve()
        if target.exists() and not target.is_relative_to("/run"):
            binds.append(Bind(self.file(str(RESOLV_CONF)), target))
        if machine_proc().is_relative_to("/run"):  # the probe reads the kernel's threads there
            binds.append(Bind(machine_proc(), machine_proc(), shown=True))
        return (*binds, Bind(self.directory, self.directory))

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
        for each in sorted(self.kept, reverse=True):
            if absolute.is_relative_to(each):
                return self._kept(each) / absolute.relative_to(each)
        return absolute

    def _kept(self, path: Path) -> Path:
        """Where the file or directory is; overlays of a directory and of one in it are apart. The
        host's files are not below the node's own directory."""
        beside = self.directory.with_name(f"{self.directory.name}.kept")
        return beside / str(path).strip("/").replace("/", "-")

    def _own_directory_inside(self) -> Path:
        return self.directory / "run" / self.directory.relative_to("/run")


def _overlay(lower: Path, place: Path, layers: Path) -> None:
    upper, work = layers / "changes", layers / "work"
    for made in (place, upper, work):
        made.mkdir(mode=0o755, parents=True)
    upper.chmod(stat.S_IMODE(lower.stat().st_mode))  # the overlay's mode is that of the upper one
    options = f"lowerdir={lower},upperdir={upper},workdir={work}"
    try:
        # In a user namespace the overlay's marks must be attributes that a user may set.
        syscalls.mount("overlay", place, "overlay", options=f"{options},userxattr")
    except OSError as error:
        if error.errno != errno.EINVAL:  # the option is unknown before Linux 5.11
            raise
        syscalls.mount("overlay", place, "overlay", options=options)
