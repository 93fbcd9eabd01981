"""TCP under 0.25 % loss: a wire with super-packets at the nodes, beside a veth without them."""

from __future__ import annotations

from typing import Any, ClassVar

from bench.bare import bare_session
from bench.goal import ROUNDS, Goal, Samples, alternate
from culvert.labs.netns.lab import NetnsLab
from culvert.measurements.tcp.tcp import Tcp
from culvert.runid import new_run_id
from culvert.topology.link.impairment import Impairment, OneWay
from culvert.topology.link.spec import LinkSpec
from culvert.topology.shapes import routed
from culvert.topology.spec import LabSpec

LOSS = 0.0025
DELAY_NS = 2_000_000
TRIALS = 2 * ROUNDS
DROP = (
    "add table ip bench; add chain ip bench f {{ type filter hook forward priority 10; }}; "
    "add rule ip bench f ip saddr {a} numgen random mod 10000 < 25 counter drop"
)


class WireTcpLoss(Goal):
    """Both links take 2 ms each way; data is lost from a to b."""

    name: ClassVar[str] = "wire-tcp-loss"
    what: ClassVar[str] = "bare TCP at 0.25 % loss through a wire, offloads on at the nodes"
    peer: ClassVar[str] = "wires without offloads, the same loss by an nftables rule"
    unit: ClassVar[str] = "bit/s"
    goal: ClassVar[str] = "equal within the interval"

    def measure(self) -> Samples:
        """In turn."""
        return alternate(lambda: _goodput(by_wire=True), lambda: _goodput(by_wire=False), TRIALS)

    def met(self, samples: Samples) -> bool:
        """One is in the interval of the ratio."""
        low, high = samples.interval or (0.0, 0.0)
        return low <= 1 <= high


def _goodput(*, by_wire: bool) -> float:
    """bit/s of a trial; the router's rule loses where the wire does not."""
    delayed = OneWay(delay_ns=DELAY_NS)
    there = OneWay(delay_ns=DELAY_NS, loss=LOSS) if by_wire else delayed
    link = LinkSpec(
        kind="wire",
        offloads=by_wire,
        impairment=Impairment(there, delayed),
        seed=int.from_bytes(new_run_id().encode()),
    )
    with NetnsLab(new_run_id(), LabSpec(topology=routed(), link=link)) as lab:
        if not by_wire:
            lab.nodes["router"].run(["nft", DROP.format(a=lab.a.underlay.address.ip)])
        with bare_session(lab) as session:
            parameters: Any = Tcp.Parameters.model_validate({"duration": "5s"})
            outcome = Tcp().run(session, parameters)
    return next(one.value for one in outcome.metrics if one.name == "goodput_bps")
