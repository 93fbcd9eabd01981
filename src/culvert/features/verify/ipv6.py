"""Tests of IPv6, inside the VPN and below it."""

from __future__ import annotations

from culvert.features.criteria import Criterion
from culvert.features.verify.bench import Bench, FeatureTest, Finding, Undecided, carries, crossing
from culvert.json_text import read_json
from culvert.labs.node import Node
from culvert.topology.ip import IpVersion
from culvert.topology.shapes import CORE


class PingOverIpv6(FeatureTest):
    """The target's global IPv6 address inside the VPN answers pings of the source."""

    name = "ping-over-ipv6"
    criterion = Criterion.IPV6_INSIDE

    def run(self, bench: Bench) -> Finding:
        """Read the address from the target's interface."""
        with bench.up(ipv6_inside=True) as vpn:
            source, target = vpn.lab.a, vpn.lab.b
            ip = target.require("ip", "install iproute2")
            shown = target.run([ip, "-j", "-6", "address", "show", "dev", vpn.interface(target)])
            addresses = [
                str(each["local"])
                for link in read_json(shown.stdout or "[]")
                for each in link.get("addr_info", ())
                if each.get("scope") == "global"
            ]
            if not addresses:
                raise Undecided("its driver gives members no IPv6 address")
            ping = source.require("ping", "install iputils-ping")
            done = source.run([ping, "-6", "-c", "3", "-w", "3", addresses[0]], check=False)
        return Finding(done.returncode == 0, f"{addresses[0]} pinged")


class TunnelOverIpv6(FeatureTest):
    """Nodes have routes of IPv6 only, and the core forwards no IPv4: packets cross the tunnel, and
    the core forwards them in IPv6."""

    name = "tunnel-over-ipv6"
    criterion = Criterion.IPV6_OUTSIDE

    def run(self, bench: Bench) -> Finding:
        """Count what the core forwards while packets cross."""
        with bench.session(IpVersion.V6) as session:
            core = session.lab.nodes[CORE]
            before = _forwarded(core)
            crossed = carries(session)
            after = _forwarded(core)
        ipv4, ipv6 = (after[each] - before[each] for each in IpVersion)
        detail = f"{crossing(crossed)}; the core forwarded {ipv6} of IPv6 and {ipv4} of IPv4"
        return Finding(crossed and ipv6 > 0 and not ipv4, detail)


def _forwarded(router: Node) -> dict[IpVersion, int]:
    """Packets that a router has forwarded, as its kernel counts them (proc_net(5))."""
    names, counts = (
        line.split()
        for line in router.text("/proc/net/snmp").splitlines()
        if line.startswith("Ip:")
    )
    ipv6 = dict(line.split() for line in router.text("/proc/net/snmp6").splitlines())
    return {
        IpVersion.V4: int(counts[names.index("ForwDatagrams")]),
        IpVersion.V6: int(ipv6["Ip6OutForwDatagrams"]),
    }
