"""Where a driver's secrets are visible: files that others can read, command lines, logs."""

from __future__ import annotations

import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch

from culvert.labs.base import Lab
from culvert.labs.host import Completed
from culvert.labs.node import Node
from culvert.labs.process import Process
from culvert.vpns.contract.observe import command_line

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

    def leaks(self, nodes: Iterable[Node]) -> list[str]:
        """Places where a secret is visible: arguments of programs, logs, files that others can
        read."""
        tokens = self.tokens()
        seen = [("a command line", line) for line in self.command_lines]
        seen += [("/proc", line) for line in _command_lines_now()]
        seen += [
            (str(path), _head(path).decode(errors="replace"))
            for path in _files(nodes)
            if path.suffix == ".log" or stat.S_IMODE(path.stat().st_mode) != 0o600
        ]
        return sorted({f"{where} shows a secret" for where, text in seen if _any_in(tokens, text)})


@contextmanager
def witnessed(lab: Lab) -> Iterator[LeakWitness]:
    """Note every file written and every command run on all nodes."""
    witness = LeakWitness()
    with ExitStack() as stack:
        for node in lab.nodes.values():
            for name, wrapped in _wrappers(node, witness).items():
                stack.enter_context(patch.object(node, name, wrapped))
        yield witness


def _wrappers(node: Node, witness: LeakWitness) -> dict[str, object]:
    write, run, spawn = node.write, node.run, node.spawn

    def noted_write(path: str, text: str | bytes, *, secret: bool = False) -> Path:
        written = write(path, text, secret=secret)
        if secret:
            words = text if isinstance(text, str) else text.decode(errors="replace")
            witness.secrets[written] = words
        return written

    def noted_run(
        argv: Sequence[str],
        *,
        timeout_s: float = 10.0,
        env: Mapping[str, str] | None = None,
        stdin: str | None = None,
        check: bool = True,
    ) -> Completed:
        witness.command_lines.append(" ".join(argv))
        return run(argv, timeout_s=timeout_s, env=env, stdin=stdin, check=check)

    def noted_spawn(
        argv: Sequence[str],
        *,
        name: str,
        env: Mapping[str, str] | None = None,
        pipes: bool = False,
    ) -> Process:
        witness.command_lines.append(" ".join(argv))
        return spawn(argv, name=name, env=env, pipes=pipes)

    return {"write": noted_write, "run": noted_run, "spawn": noted_spawn}


def _any_in(tokens: Iterable[str], text: str) -> bool:
    return any(token in text for token in tokens)


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
