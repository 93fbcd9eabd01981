"""Tests of access control lists, by the measurement ``acl``; and of addresses of IPv6."""

from __future__ import annotations

import json

from culvert.features.criteria import Criterion
from culvert.features.verify.base import FeatureTest, Finding
from culvert.features.verify.bench import Bench, Undecided, figures
from culvert.labs.base import Lab
from culvert.measurements.acl.acl import Acl
from culvert.topology.shapes import mesh
from culvert.topology.spec import LabSpec
from culvert.vpns.policy import Protocol

_PORTS = (Protocol.TCP, Protocol.UDP)


class _Policies(FeatureTest):
    """One trial of ``acl`` for each test: a lab of its own, seconds."""

    def shares(self, bench: Bench, name: str) -> dict[str, float]:
        """The share of flows that were answered, by protocol."""
        finding = bench.measured(Acl(), {}, LabSpec(topology=mesh(2)))
        figures(finding)
        return {
            metric.labels["protocol"]: metric.value
            for metric in finding.outcome.metrics
            if metric.name == name and "protocol" in metric.labels
        }


class ForbiddenFlows(_Policies):
    """Nothing that is forbidden passes."""

    name = "forbidden-flows"
    criterion = Criterion.ACL
    text = "acl: of the flows that a policy forbids, none over TCP or UDP is answered"

    def run(self, bench: Bench) -> Finding:
        """Flows that passed although they were forbidden."""
        passed = self.shares(bench, "forbidden_share")
        detail = ", ".join(f"{protocol} {share:.0%}" for protocol, share in passed.items())
        return Finding(not any(passed[one] for one in _PORTS), f"forbidden and answered: {detail}")


class PermittedPort(_Policies):
    """A policy for one port."""

    name = "permitted-port"
    criterion = Criterion.GRANULAR_ACL
    text = "acl: a policy permits one TCP or UDP port: that port answers, others do not"

    def run(self, bench: Bench) -> Finding:
        """Permitted flows that passed; ForbiddenFlows has the others."""
        passed = self.shares(bench, "permitted_share")
        detail = ", ".join(f"{protocol} {share:.0%}" for protocol, share in passed.items())
        return Finding(all(passed[one] == 1 for one in _PORTS), f"permitted and answered: {detail}")


class PingOverIpv6(FeatureTest):
    """The addresses that members have."""

    name = "ping-over-ipv6"
    criterion = Criterion.IPV6_INSIDE
    text = "the target's global IPv6 address inside the VPN answers pings of the source"

    def run(self, bench: Bench) -> Finding:
        """Read the address from the target's interface."""
        with bench.up(change=_allow_ipv6) as vpn:
            source, target = vpn.lab.a, vpn.lab.b
            ip = target.require("ip", "install iproute2")
            shown = target.run([ip, "-j", "-6", "address", "show", "dev", vpn.interface(target)])
            addresses = [
                str(each["local"])
                for link in json.loads(shown.stdout or "[]")
                for each in link.get("addr_info", ())
                if each.get("scope") == "global"
            ]
            if not addresses:
                raise Undecided("its driver gives members no IPv6 address")
            ping = source.require("ping", "install iputils-ping")
            done = source.run([ping, "-6", "-c", "3", "-w", "3", addresses[0]], check=False)
        return Finding(done.returncode == 0, f"{addresses[0]} pinged")


def _allow_ipv6(lab: Lab) -> None:
    """Devices that members make from now on may have IPv6 addresses; a lab's have none."""
    for member in lab.members:
        sysctl = member.require("sysctl", "install procps")
        member.run([sysctl, "-q", "-w", "net.ipv6.conf.default.disable_ipv6=0"])
