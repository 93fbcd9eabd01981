"""The router's firewall: nftables, everything dropped that is not allowed, and counted.

::

    a ── u0 router u1 ── b        forward: established, what the rules allow; the rest is dropped
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from culvert import tools
from culvert.errors import LabError, NotPossible
from culvert.labs.base import Allowed, Node

TABLE = "culvert"


@dataclass(frozen=True)
class Counter:
    """Packets and bytes (of IP packets) that a rule of the firewall saw."""

    name: str
    packets: int
    bytes: int


def ruleset(allowed: Sequence[Allowed] | None) -> str:
    """The firewall in nft's language; None allows everything between the underlay's ends.

    Counters are named ``established``, ``allowed_N`` (in the order given) and ``dropped``.
    """
    rules = ["ct state established,related counter name established accept"]
    names = ["established", "dropped"]
    matches = [""] if allowed is None else [_match(rule) for rule in allowed]
    for number, match in enumerate(matches):
        names.append(f"allowed_{number}")
        for near, far in (("u0", "u1"), ("u1", "u0")):
            rules.append(
                f'iifname "{near}" oifname "{far}" {match} counter name allowed_{number} accept'
            )
    rules.append("counter name dropped drop")
    counters = "\n".join(f"  counter {name} {{ }}" for name in names)
    lines = "\n".join(f"    {rule}" for rule in rules)
    return (
        f"table inet {TABLE} {{\n{counters}\n  chain forward {{\n"
        f"    type filter hook forward priority filter; policy drop;\n{lines}\n  }}\n}}\n"
    )


def load(router: Node, allowed: Sequence[Allowed] | None) -> None:
    """Put the firewall on the router; raises NotPossible without nft or nf_tables."""
    nft = tools.require("nft", "apt-get install nftables")
    done = router.run([str(nft), "-f", "-"], stdin=ruleset(allowed), check=False)
    if done.returncode != 0:
        raise NotPossible(
            "the router's firewall",
            (done.stderr.strip().splitlines() or ["nft said nothing"])[0],
            "the kernel needs nf_tables and nf_conntrack: modprobe nf_tables nft_ct",
        )


def counters(router: Node) -> tuple[Counter, ...]:
    """What the rules have counted so far."""
    text = router.run(["nft", "-j", "list", "counters", "table", "inet", TABLE]).stdout
    try:
        objects = json.loads(text)["nftables"]
        found = [entry["counter"] for entry in objects if "counter" in entry]
        return tuple(Counter(one["name"], one["packets"], one["bytes"]) for one in found)
    except (ValueError, KeyError) as error:
        raise LabError("nft", f"its counters cannot be read: {error}", "update nftables") from error


def _match(rule: Allowed) -> str:
    if not rule.ports:
        return f"meta l4proto {rule.protocol}"
    return f"{rule.protocol} dport {{ {', '.join(map(str, sorted(rule.ports)))} }}"
