"""The name of an image in a registry: REGISTRY/NAME:TAG."""

from __future__ import annotations

import re
from dataclasses import dataclass

from culvert.errors import UsageError

LOCAL = frozenset({"localhost", "127.0.0.1"})
"""Hosts that are reached without TLS."""
HUB, HUB_HOST = "docker.io", "registry-1.docker.io"
_HOST = r"(?P<registry>(?:[A-Za-z0-9-]+\.)*[A-Za-z0-9-]+(?::[0-9]{1,5})?)"
_PART = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_REFERENCE = re.compile(rf"{_HOST}/(?P<name>{_PART}(?:/{_PART})*):(?P<tag>\w[\w.-]{{0,127}})", re.A)


@dataclass(frozen=True)
class Reference:
    """``registry`` is its host, with a port if it is not the usual one."""

    registry: str
    name: str
    tag: str

    @classmethod
    def parse(cls, word: str) -> Reference:
        """From the command line; raises UsageError."""
        found = _REFERENCE.fullmatch(word)
        registry = found["registry"] if found else ""
        if found is None or not (set(registry) & {".", ":"} or registry in LOCAL):
            raise UsageError(
                f"'{word}'",
                "does not name an image in a registry",
                "write REGISTRY/NAME:TAG, such as registry.example/probe:1",
            )
        return cls(registry, found["name"], found["tag"])

    @property
    def host(self) -> str:
        """That which answers for the registry."""
        return HUB_HOST if self.registry == HUB else self.registry

    @property
    def local(self) -> bool:
        """Whether the registry is on this machine."""
        return is_local(self.registry)

    def __str__(self) -> str:
        return f"{self.registry}/{self.name}:{self.tag}"


def is_local(host: str) -> bool:
    """Whether a host, with or without a port, is this machine."""
    return host.partition(":")[0] in LOCAL
