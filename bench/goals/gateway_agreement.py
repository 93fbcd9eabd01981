"""Many clients of one gateway: against the measurements of a pair, and against iperf3 by hand.

The gateway's link has a rate, so that both instruments measure it and not the machine.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

from bench.bare import bare_session
from bench.bounds import RatioNearOne
from bench.goal import ROUNDS, Samples, alternate
from bench.link import RATE_BPS, SECONDS
from culvert.labs.base import Lab
from culvert.labs.netns.lab import NetnsLab
from culvert.labs.node import Node
from culvert.labs.process import Process
from culvert.measurements.base import Measurement
from culvert.measurements.gateway.load import GatewayLoad
from culvert.measurements.tcp.tcp import Tcp
from culvert.measurements.udp.udp import Udp
from culvert.runid import new_run_id
from culvert.topology.link.spec import LinkSpec
from culvert.topology.shapes import star
from culvert.topology.spec import LabSpec
from culvert.waiting import wait_until

FIRST_PORT = 5201
TOLERANCE = 0.03
BY_HAND_S = 12
"""Each client of iperf3 counts in a time of its own. While one has not begun or has ended, the
others get its share: begun 0.2 s apart for 4 s, the sum was 5 % above the link's rate."""
_WAIT = 'until [ -e "$0" ]; do sleep 0.01; done; exec "$@"'
TCP = {"duration": f"{SECONDS}s", "warmup": "1s"}


class _OnAStar(RatioNearOne):
    """``clients`` of a gateway."""

    unit: ClassVar[str] = "bit/s"
    goal: ClassVar[str] = f"ratio within {TOLERANCE:.0%} of 1"
    tolerance: ClassVar[float] = TOLERANCE
    clients: ClassVar[int] = 1

    def measure(self) -> Samples:
        """On one lab."""
        spec = LabSpec(topology=star(self.clients), link=LinkSpec(rate_bps=RATE_BPS))
        with NetnsLab(new_run_id(), spec) as lab:
            return alternate(lambda: self._ours(lab), lambda: self._peers(lab), ROUNDS)

    @abstractmethod
    def _ours(self, lab: Lab) -> float:
        """By ``gateway_load``."""

    @abstractmethod
    def _peers(self, lab: Lab) -> float:
        """By the peer."""


class GatewayEqualsTcp(_OnAStar):
    """One client is a pair."""

    name: ClassVar[str] = "gateway-equals-tcp"
    what: ClassVar[str] = "TCP goodput of one client"
    peer: ClassVar[str] = "tcp"

    def _ours(self, lab: Lab) -> float:
        return _goodput(lab, GatewayLoad(), {"clients": 1, "protocol": "tcp", **TCP})

    def _peers(self, lab: Lab) -> float:
        return _goodput(lab, Tcp(), TCP)


class GatewayEqualsUdp(_OnAStar):
    """The same over UDP."""

    name: ClassVar[str] = "gateway-equals-udp"
    what: ClassVar[str] = "UDP goodput of one client"
    peer: ClassVar[str] = "udp"

    def _ours(self, lab: Lab) -> float:
        return _goodput(lab, GatewayLoad(), {"clients": 1, "duration": f"{SECONDS}s"})

    def _peers(self, lab: Lab) -> float:
        return _goodput(lab, Udp(), {"duration": f"{SECONDS}s"})


class GatewayAgrees8(_OnAStar):
    """The sum over clients of iperf3, each with a server of its own on the gateway."""

    name: ClassVar[str] = "gateway-agrees-8"
    what: ClassVar[str] = "TCP goodput of 8 clients"
    peer: ClassVar[str] = "iperf3"
    programs: ClassVar[tuple[tuple[str, str], ...]] = (("iperf3", "iperf3"),)
    clients: ClassVar[int] = 8

    def _ours(self, lab: Lab) -> float:
        return _goodput(lab, GatewayLoad(), {"clients": self.clients, "protocol": "tcp", **TCP})

    def _peers(self, lab: Lab) -> float:
        gateway = lab.b
        address = str(gateway.underlay.address.ip)
        with ExitStack() as stack:
            servers = [
                _started(stack, gateway, f"server{port}", "--server", "--one-off", "--port", port)
                for port in map(str, range(FIRST_PORT, FIRST_PORT + self.clients))
            ]
            for server in servers:
                wait_until(
                    lambda one=server: "listening" in one.log_text(),  # type: ignore[misc]
                    what="iperf3's server",
                    deadline_s=20,
                )
            go = Path(stack.enter_context(TemporaryDirectory())) / "go"
            running = [
                _started(
                    stack,
                    lab.nodes[f"c{number + 1}"],
                    f"client{number}",
                    *("--client", address, "--port", str(FIRST_PORT + number)),
                    *("--time", str(BY_HAND_S), "--omit", "1", "--congestion", "cubic", "--json"),
                    after=go,
                )
                for number in range(self.clients)
            ]
            go.touch()
            wait_until(
                lambda: not any(client.alive() for client in running),
                what="the end of iperf3's clients",
                deadline_s=BY_HAND_S + 30,
                poll_s=0.05,
            )
            sums = [json.loads(client.log_text())["end"]["sum_received"] for client in running]
        return float(sum(one["bits_per_second"] for one in sums))


class GatewayAgrees32(GatewayAgrees8):
    """More of them."""

    name: ClassVar[str] = "gateway-agrees-32"
    what: ClassVar[str] = "TCP goodput of 32 clients"
    clients: ClassVar[int] = 32


def _started(
    stack: ExitStack, node: Node, name: str, *words: str, after: Path | None = None
) -> Process:
    """Of iperf3; with ``after`` it begins when that file exists."""
    argv = ["iperf3", *words, "--forceflush"]
    if after is not None:
        argv = ["/bin/sh", "-c", _WAIT, str(after), *argv]
    process = node.spawn(argv, name=f"iperf3-{name}")
    stack.callback(process.stop)
    return process


def _goodput(lab: Lab, measurement: Measurement[Any], given: Mapping[str, object]) -> float:
    parameters = measurement.Parameters.model_validate(given)
    with bare_session(lab) as session:
        outcome = measurement.run(session, parameters)
    return next(one.value for one in outcome.metrics if one.name == "goodput_bps")
