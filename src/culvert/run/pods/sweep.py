"""Thousands of marked packets over many ports, sizes and protocols, and what the nodes' interfaces
show of them: a leak may concern one packet in hundreds, or some ports only.

::

    burst 1: UDP, 128 bytes     a ── requests ──> b      each from and to ports of its own
    burst 2: TCP, 256 bytes     a <── answers ─── b
    ...
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from typing import Any

from culvert.measurements.rtt.rtt import HEADERS, Protocol
from culvert.probe.results import RttResult, parse
from culvert.proof.cluster.judge import CALMER, REMEDY
from culvert.proof.cluster.observer import watching
from culvert.proof.cluster.seen import Seen, canary_hits, readable
from culvert.run.pods.prove import Watch
from culvert.trial.check import Check
from culvert.trial.outside import found_share
from culvert.trial.session import Session

BURSTS = 60
EACH = 100
RATE_PPS = 3000.0
SIZES = (128, 256, 512, 1000, 1400)
"""Bytes of the inner IP packet: small ones still hold the whole mark."""
_PROTOCOLS = (Protocol.UDP, Protocol.UDP, Protocol.TCP)


@dataclass(frozen=True)
class Swept:
    """Marked packets that crossed ``there`` and ``back``, over ``ports``; ``seen`` is what the
    interfaces carried meanwhile."""

    there: int
    back: int
    ports: int
    seen: Sequence[Seen]

    @property
    def one_in(self) -> int:
        """A leak of more than one packet in so many, each way, would have been seen with 95 %."""
        return found_share(min(self.there, self.back))

    def check(self, traffic: str) -> Check:
        """Passed if no mark was readable, and all packets were looked at."""
        hits = canary_hits(self.seen)
        missed = [one.missed for one in self.seen if one.missed]
        return Check(
            f"nothing clear over many ports ({traffic})",
            not hits and not missed and self.one_in > 0,
            readable(hits) or "; ".join(missed) or self.text,
            REMEDY if hits else CALMER,
            {
                "there": self.there,
                "back": self.back,
                "ports": self.ports,
                "leak_of_one_in": self.one_in,
                "canary_hits": hits,
                "missed": missed,
            },
        )

    @property
    def text(self) -> str:
        if not self.one_in:
            return "no marked packet came back"
        return (
            f"{self.there} marked packets there and {self.back} back over {self.ports} ports, UDP "
            f"and TCP, {SIZES[0]} to {SIZES[-1]} bytes: a leak of more than one packet in "
            f"{self.one_in} each way would have been seen with 95 %"
        )


def sweep(session: Session[Any], watch: Watch) -> Swept:
    """Send all bursts while every device of the nodes is watched."""
    seen: list[Seen] = []
    there = back = ports = 0
    with watching(watch.observers, session.canary, seen, watch.among):
        for size, protocol in islice(zip(cycle(SIZES), cycle(_PROTOCOLS), strict=False), BURSTS):
            answered = _burst(session, size, protocol)
            there += answered.sent - answered.lost
            back += answered.received
            ports += 1
    return Swept(there, back, ports, seen)


def _burst(session: Session[Any], size: int, protocol: Protocol) -> RttResult:
    to = session.inner(session.target)
    listener = "echo" if protocol is Protocol.UDP else "tcp_responder"
    reflector = session.b.begin(listener, bind=to, token=session.token, idle_s=30)
    answer = session.a.call(
        "rtt",
        20 + EACH / RATE_PPS,
        to=to,
        port=reflector.port(),
        protocol=protocol,
        rate_pps=RATE_PPS,
        count=EACH,
        payload_size=size - HEADERS[protocol],
        timeout_ms=session.patience_ms(1000),
        **session.marks,
    )
    reflector.stop()
    return parse(RttResult, answer)
