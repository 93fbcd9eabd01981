"""The router's firewall: nftables rules that drop and count all packets that are not allowed.

::

    a ── u0 router u1 ── b        forward: established, what the rules allow; the rest is dropped
"""

from __future__ import annotations

from collections.abc import Sequence

from culvert.errors import LabError, NotPossible
from culvert.json_text import read_json
from culvert.labs.node import Node
from culvert.topology import nat
from culvert.topology.spec import Allowed

TABLE = "culvert"
BLOCKED_UDP = "blocked_udp"
DROPPED = "dropped"
_MODULES = (
    "the kernel needs nf_tables, nf_conntrack and, for NAT, nf_nat: "
    "modprobe nf_tables nft_ct nft_nat"
)


def ruleset(
    allowed: Sequence[Allowed] | None = None,
    translated: tuple[nat.Nat, nat.NatSide] | None = None,
    *,
    block_udp: bool = False,
) -> str:
    """The firewall in nft's language, for packets between the ends of the underlay.

    ``allowed`` None lets everything pass. ``translated`` is for whom it is a NAT, and of which
    kind; ``block_udp`` drops UDP both ways whatever is allowed. Counters are named
    ``established``, ``allowed_N`` (in the order given) and ``dropped``; with the corresponding
    rules also ``blocked_udp`` and ``unasked`` (by a NAT).
    """
    rules, names, chains = [], ["established", DROPPED], ""
    if block_udp:
        names.append(BLOCKED_UDP)
        rules.append(f"meta l4proto udp counter name {BLOCKED_UDP} drop")
    rules.append("ct state established,related counter name established accept")
    if translated is not None:
        kind, side = translated
        names.append(nat.UNASKED)
        rules.append(nat.guard(side))
        chains = nat.chains(kind, side)
    matches = [""] if allowed is None else [_match(rule) for rule in allowed]
    for number, match in enumerate(matches):
        names.append(f"allowed_{number}")
        for near, far in (("u0", "u1"), ("u1", "u0")):
            rules.append(
                f'iifname "{near}" oifname "{far}" {match} counter name allowed_{number} accept'
            )
    rules.append(f"counter name {DROPPED} drop")
    counters = "\n".join(f"  counter {name} {{ }}" for name in names)
    lines = "\n".join(f"    {rule}" for rule in rules)
    return (
        f"table inet {TABLE} {{\n{counters}\n{chains}  chain forward {{\n"
        f"    type filter hook forward priority filter; policy drop;\n{lines}\n  }}\n}}\n"
    )


def apply(
    node: Node, rules: str, *, what: str = "the router's firewall", remedy: str = _MODULES
) -> None:
    """Apply commands in nft's language in one transaction; raises NotPossible without nft,
    nf_tables or NAT."""
    nft = node.require("nft", "apt-get install nftables")
    done = node.run([nft, "-f", "-"], stdin=rules, check=False)
    if done.returncode != 0:
        why = (done.stderr.strip().splitlines() or ["nft printed no error"])[0]
        raise NotPossible(what, why, remedy)


def obstacles(router: Node) -> list[str]:
    """Packets that the rules have dropped so far, in words."""
    reasons = {
        BLOCKED_UDP: "UDP packets, which this lab blocks (block_udp)",
        nat.UNASKED: "unsolicited packets to the node behind its NAT",
        DROPPED: "packets that its firewall does not allow",
    }
    return [
        f"{_named(router)} dropped {packets} {reasons[name]}"
        for name, packets in counters(router).items()
        if packets and name in reasons
    ]


def _named(router: Node) -> str:
    return "the router" if router.name == "router" else f"the router {router.name}"


def counters(router: Node, table: str = TABLE) -> dict[str, int]:
    """Packets that matched the rules of a table, by the names of their counters."""
    text = router.run(["nft", "-j", "list", "counters", "table", "inet", table]).stdout
    try:
        objects = read_json(text)["nftables"]
        found = [entry["counter"] for entry in objects if "counter" in entry]
        return {one["name"]: one["packets"] for one in found}
    except (ValueError, KeyError) as error:
        raise LabError("nft", f"its counters cannot be read: {error}", "update nftables") from error


def _match(rule: Allowed) -> str:
    if not rule.ports:
        return f"meta l4proto {rule.protocol}"
    return f"{rule.protocol} dport {{ {', '.join(map(str, sorted(rule.ports)))} }}"
