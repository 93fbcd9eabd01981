"""Where a driver's secrets are visible: files that others can read, command lines, logs."""

from __future__ import annotations

import re
import shlex
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import ParamSpec, TypeVar, cast

from culvert.labs.base import Lab
from culvert.labs.node import Node
from culvert.vpns.contract.observe import command_line
from culvert.vpns.contract.story import LOGS, OBSERVERS, Story

P = ParamSpec("P")
R = TypeVar("R")

_KEY_MATERIAL = re.compile(rb"PRIVATE KEY-----|OpenVPN Static key|^\s*PrivateKey\s*=", re.MULTILINE)
"""A file with this content is secret, even if the driver does not declare it."""
_PUBLIC_BLOCK = re.compile(
    r"-----BEGIN (CERTIFICATE|PUBLIC KEY)-----.*?-----END \1-----", re.DOTALL
)
_TOKEN = re.compile(r"[A-Za-z0-9+/=]{22,}")
"""Long enough to be key material (128 bits in base64), and to be recognised."""
_PATHS = ("/run/", "/etc/", "/usr/", "/var/", "/tmp/")  # noqa: S108  only compared with
_READ_BYTES = 1 << 20


@dataclass
class LeakWitness:
    """The files that a driver wrote and the commands that it ran."""

    secrets: dict[Path, str] = field(default_factory=dict)
    command_lines: list[str] = field(default_factory=list)

    def tokens(self) -> set[str]:
        """The confidential parts of secrets; without certificates and file names, which a secret
        configuration also contains."""
        return {
            token
            for text in self.secrets.values()
            for token in _TOKEN.findall(_PUBLIC_BLOCK.sub("", text))
            if not token.startswith(_PATHS)
        }

    def exposed_files(self, nodes: Iterable[Node]) -> list[str]:
        """Secret files that users other than root may read."""
        found = []
        for path in _files(nodes):
            secret = path in self.secrets or _KEY_MATERIAL.search(_head(path)) is not None
            if secret and (mode := stat.S_IMODE(path.stat().st_mode)) != 0o600:
                found.append(f"{path} holds a secret and has mode {mode:04o}")
        return found

    def keep(self, nodes: Iterable[Node], directory: Path) -> None:
        """Copy the nodes' files, but none that may hold a secret; secrets in logs are masked."""
        for path in _files(nodes):
            content = path.read_bytes()
            log = path.parent.name == LOGS
            private = stat.S_IMODE(path.stat().st_mode) & stat.S_IROTH == 0 and not log
            if private or path in self.secrets or _KEY_MATERIAL.search(content):
                continue
            for token in self.tokens():
                content = content.replace(token.encode(), b"(a secret)")
            (node,) = (each for each in nodes if path.is_relative_to(each.directory))
            target = directory / node.name / path.relative_to(node.directory)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)

    def leaks(self, nodes: Iterable[Node]) -> list[str]:
        """Places where a secret is visible: arguments of programs, logs, files that others can
        read."""
        tokens = self.tokens()
        seen = [("a command line", line) for line in self.command_lines]
        seen += [("/proc", line) for line in _command_lines_now()]
        seen += [
            (str(path), _head(path).decode(errors="replace"))
            for path in _files(nodes)
            if path.parent.name == LOGS or stat.S_IMODE(path.stat().st_mode) != 0o600
        ]
        found = {where for where, text in seen if any(token in text for token in tokens)}
        return [f"{where} shows a secret" for where in sorted(found)]


@contextmanager
def witnessed(lab: Lab, story: Story) -> Iterator[LeakWitness]:
    """Note every file written and every command run on all nodes. The log of a process remains
    when another of its name starts."""
    witness = LeakWitness()
    story.secrets = witness.tokens
    with ExitStack() as stack:
        for node in lab.nodes.values():
            for name in ("run", "spawn", "daemon"):
                noted = _noted_command(getattr(node, name), node, witness, story)
                setattr(node, name, noted)
                stack.callback(delattr, node, name)
            node.write = _noted_write(node, witness, story)  # type: ignore[method-assign]
            stack.callback(delattr, node, "write")
        yield witness


def _noted_write(node: Node, witness: LeakWitness, story: Story) -> Callable[..., Path]:
    write = node.write

    def noted(
        path: str, text: str | bytes, *, secret: bool = False, executable: bool = False
    ) -> Path:
        written = write(path, text, secret=secret, executable=executable)
        if secret:
            words = text if isinstance(text, str) else text.decode(errors="replace")
            witness.secrets[written] = words
        story.tell(f"{node.name}: writes {path}{' (a secret)' if secret else ''}")
        return written

    return noted


def _noted_command(
    start: Callable[P, R], node: Node, witness: LeakWitness, story: Story
) -> Callable[P, R]:
    def noted(*args: P.args, **kwargs: P.kwargs) -> R:
        argv = cast(Sequence[str], kwargs.get("argv", args[0] if args else ()))
        witness.command_lines.append(" ".join(argv))
        name = str(kwargs.get("name", ""))
        if name.startswith(OBSERVERS):
            return start(*args, **kwargs)
        if name:
            _keep_log(node.directory / LOGS / f"{name}.log")
        story.tell(f"{node.name}: $ {shlex.join(argv)}")
        return start(*args, **kwargs)

    return noted


def _keep_log(log: Path) -> None:
    """Under another name: a new process of that name makes its log anew."""
    if log.exists():
        names = (log.with_name(f"{log.stem}.{number}.before") for number in count(1))
        next(name for name in names if not name.exists()).hardlink_to(log)


def _files(nodes: Iterable[Node]) -> Iterator[Path]:
    """Those of the nodes, without the host's files below the overlays of ``keep_changes``."""
    for node in nodes:
        own = node.directory.stat().st_dev
        found = (path for path in sorted(node.directory.rglob("*")) if path.is_file())
        yield from (path for path in found if path.stat().st_dev == own)


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_READ_BYTES)


def _command_lines_now() -> Iterator[str]:
    for process in Path("/proc").glob("[0-9]*"):
        try:
            yield command_line(process)
        except OSError:  # the process has ended
            continue
