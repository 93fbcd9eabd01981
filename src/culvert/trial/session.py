"""What a measurement works with: one tunnel that is up, for one trial."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property

from culvert.labs.base import Lab, Node
from culvert.probe.client import Probe
from culvert.probe.results import Accounted
from culvert.topology.link.spec import LinkSpec
from culvert.trial.outside import Outside
from culvert.trial.sampling import one_in
from culvert.trial.watch import Watched, Watcher, new_canary
from culvert.vpns.base import Vpn


@dataclass
class Session:
    """A tunnel between two nodes, a probe on each, and the marks that our packets carry.

    ``token`` lets sinks tell our packets from a stranger's; ``canary`` is the pattern that must
    not be readable on the underlay.
    """

    lab: Lab
    vpn: Vpn
    a: Probe
    b: Probe
    link: LinkSpec
    token: str = field(default_factory=lambda: secrets.token_hex(16))
    canary: bytes = field(default_factory=new_canary)
    known_max_size: dict[str, int] = field(default_factory=dict)
    """Largest unfragmented inner packet in bytes by VPN and link, found once in a run."""

    def inner(self, node: Node) -> str:
        """The node's address inside the tunnel."""
        return str(self.vpn.inner(node).ip)

    def patience_ms(self, at_least_ms: int) -> int:
        """How long an answer may take: the link's asked round trip with its jitter, on top."""
        both = (self.link.impairment.a_to_b, self.link.impairment.b_to_a)
        asked_ns = sum(way.delay_ns + (way.jitter.longest_ns if way.jitter else 0) for way in both)
        return at_least_ms + 2 * round(asked_ns / 1e6)

    @property
    def marks(self) -> dict[str, str]:
        """Token and canary, as probe tasks take them."""
        return {"token": self.token, "canary": self.canary.hex()}

    @cached_property
    def outside(self) -> Outside:
        """What looks at the link."""
        return Outside(self.lab, self.vpn.outer_flow, {"a": self.a, "b": self.b}, self.canary)

    @contextmanager
    def watch(self, *, sample_one_in: int) -> Iterator[Watched]:
        """Account on both nodes and look at the link while the body runs: at a random one in so
        many packets, at more of them where the link is slow."""
        sampled = one_in(sample_one_in, self.link)
        with self._watcher().watch(sample_one_in=sampled) as watched:
            yield watched

    @contextmanager
    def account(self) -> Iterator[dict[str, Accounted]]:
        """Account on both nodes while the body runs, and capture nothing."""
        with self._watcher().account() as accounted:
            yield accounted

    def _watcher(self) -> Watcher:
        return Watcher(
            self.vpn,
            {"a": self.lab.a, "b": self.lab.b},
            {"a": self.a, "b": self.b},
            self.outside,
        )
