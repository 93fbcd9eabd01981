"""The emulated link: a cable of ``culvert-wire`` with a TAP device in each of two namespaces."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any

from culvert.labs.link import veth
from culvert.labs.link.wire.counts import Statistics
from culvert.labs.link.wire.program import ANSWER_DEADLINE_S, START_DEADLINE_S, WireProgram
from culvert.labs.namespace.interfaces import index_of
from culvert.topology.link.spec import LinkSpec
from culvert.waiting import wait_until

RATES_BPS = range(1_000, 10**12 + 1)
LONGEST_MTU = 65_521
IFF_LOWER_UP = 0x10000


class Wire:
    """One cable, from ``left`` (its end a) to ``right`` (its end b), by its name in the program."""

    def __init__(
        self,
        program: WireProgram,
        name: str,
        left: veth.CableEnd,
        right: veth.CableEnd,
        spec: LinkSpec,
    ) -> None:
        self.program = program
        self._name = name
        self._left, self._right = left, right
        self._spec = spec

    def open(self) -> None:
        """Connect the cable; both ends then pass packets. Raises LabError or NotPossible."""
        spec = self._spec
        self.program.start()
        self.ask(
            "connect",
            deadline_s=START_DEADLINE_S,
            a=f"{self._left.namespace.path}:{self._left.device}",
            b=f"{self._right.namespace.path}:{self._right.device}",
            mtu=spec.mtu,
            offloads=spec.offloads,
            seed=spec.seed,
            a_to_b=spec.impairment.a_to_b.conditions(spec.rate_bps),
            b_to_a=spec.impairment.b_to_a.conditions(spec.rate_bps),
        )
        for end in (self._left, self._right):
            _set_mac(end)
        veth.configure(self._left, self._right, spec)
        for end in (self._left, self._right):
            wait_until(
                partial(_has_carrier, end),
                what=f"the carrier of {end.device} on a wire",
                deadline_s=START_DEADLINE_S,
            )
            veth.wait_local(end)

    def statistics(self) -> Statistics:
        return Statistics.of(self.ask("statistics", event="statistics"))

    def obstacles(self) -> list[str]:
        """What its filters have dropped and told nobody, in words. Raises LabError."""
        there, back = self._spec.impairment.a_to_b.filters, self._spec.impairment.b_to_a.filters
        if not there and not back:
            return []
        counts = self.statistics()
        dropped: Counter[str] = Counter()
        dropped[there] += counts.a_to_b.filtered_packets
        dropped[back] += counts.b_to_a.filtered_packets
        return [
            f"the link drops {filters} and notifies nobody: {packets} vanished"
            for filters, packets in dropped.items()
            if packets
        ]

    @property
    def ends(self) -> tuple[veth.CableEnd, veth.CableEnd]:
        return self._left, self._right

    def ask(
        self,
        command: str,
        *,
        event: str = "done",
        deadline_s: float = ANSWER_DEADLINE_S,
        **parameters: object,
    ) -> dict[str, Any]:
        """The program's answer to a command about this cable. Raises LabError."""
        request = {"command": command, "cable": self._name, **parameters}
        return self.program.ask(request, event=event, deadline_s=deadline_s)


def _has_carrier(end: veth.CableEnd) -> bool:
    """A TAP device that is up and has its carrier passes packets. It had the carrier before it was
    brought up, so the kernel has no pending carrier event; its operational state stays UNKNOWN."""

    def read(netlink: Any) -> bool:
        (link,) = netlink.link("get", ifname=end.device)
        return bool(link["flags"] & IFF_LOWER_UP)

    return end.namespace.netlink(read, f"interface {end.device}")


def _set_mac(end: veth.CableEnd) -> None:
    end.namespace.netlink(
        lambda netlink: netlink.link("set", index=index_of(end.device), address=end.mac),
        f"address of {end.device}",
    )
