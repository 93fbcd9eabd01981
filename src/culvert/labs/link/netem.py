"""A veth pair with impairments by the kernel's emulator (tc-netem(8)).

netem treats each socket buffer as one packet, and with offloads a buffer may hold packets of 64 kB
in total: so a link of this kind never has offloads. A request that netem cannot fulfil exactly is
refused, not approximated; the wire supports all of them.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from culvert import tools
from culvert.errors import LabError, NotPossible, UsageError
from culvert.labs.link import veth
from culvert.labs.namespace.interfaces import index_of
from culvert.labs.process import not_ended
from culvert.machine import features
from culvert.topology.link.impairment import Bursts, OneWay
from culvert.topology.link.jitter import JitterShape
from culvert.topology.link.netem import USE_THE_WIRE, options
from culvert.topology.link.spec import LinkSpec

TC_DEADLINE_S = 5.0
_SHARES = {"loss": "loss", "duplicate": "duplicate", "corrupt": "prob_corrupt"}
"""tc's option and pyroute2's parameter."""


def connect(left: veth.CableEnd, right: veth.CableEnd, spec: LinkSpec) -> None:
    """Create the cable. Raises NotPossible without netem, UsageError for unsupported requests."""
    requested = {left: spec.impairment.a_to_b, right: spec.impairment.b_to_a}
    if spec.offloads:
        raise UsageError(
            "offloads on a netem link",
            "netem would lose and delay super-packets of up to 64 kB as if they were one packet",
            "leave offloads out, or " + USE_THE_WIRE,
        )
    parameters = {end: options(one_way, spec.rate_bps) for end, one_way in requested.items()}
    if not features.has("netem"):
        raise NotPossible(
            "the link netem",
            "this kernel has no sch_netem",
            "modprobe sch_netem, or " + USE_THE_WIRE,
        )
    veth.connect(left, right, replace(spec, rate_bps=None))
    for end, chosen in parameters.items():
        if needs_tc(requested[end]):
            _impair_by_tc(end, requested[end], chosen)
        else:
            _impair(end, chosen)


def _impair(end: veth.CableEnd, chosen: dict[str, Any]) -> None:
    def add(netlink: Any) -> None:
        index = index_of(end.device)
        netlink.tc("add", "netem", index=index, handle=0x10000, **chosen)

    end.namespace.netlink(add, f"netem on {end.device}")


def _impair_by_tc(end: veth.CableEnd, one_way: OneWay, chosen: dict[str, Any]) -> None:
    tc = tools.require("tc", "apt install iproute2, or " + USE_THE_WIRE)
    argv = [str(tc), "qdisc", "add", "dev", end.device, "root", "handle", "1:", "netem"]
    argv += words(one_way, chosen)

    def add() -> subprocess.CompletedProcess[str]:
        # a child of the namespace's thread runs in the namespace
        return subprocess.run(
            argv, capture_output=True, text=True, timeout=TC_DEADLINE_S, check=False
        )

    try:
        done = end.namespace.call(add)
    except subprocess.TimeoutExpired:
        raise not_ended(f"netem on {end.device}", TC_DEADLINE_S) from None
    if done.returncode:
        why = done.stderr.strip() or f"tc ended with {done.returncode}"
        raise LabError(f"netem on {end.device}", why, USE_THE_WIRE)


def needs_tc(one_way: OneWay) -> bool:
    """Whether the request contains an option that only tc supports."""
    return isinstance(one_way.loss, Bursts) or _is_normal(one_way)


def words(one_way: OneWay, chosen: Mapping[str, Any]) -> list[str]:
    """The same as ``chosen`` (``topology.link.netem.options``), with bursts and the
    distribution, as arguments of ``tc``, which replaces all options of a discipline at once."""
    arguments = ["limit", str(chosen["limit"])]
    if chosen["delay"] or chosen["jitter"]:
        arguments += ["delay", f"{chosen['delay']}us"]
    if chosen["jitter"]:
        arguments.append(f"{chosen['jitter']}us")
    if _is_normal(one_way):
        arguments += ["distribution", "normal"]
    for word, parameter in _SHARES.items():
        if chosen.get(parameter):
            arguments += [word, f"{chosen[parameter]}%"]
    if isinstance(one_way.loss, Bursts):
        arguments += ["loss", "gemodel", *_gemodel(one_way.loss)]
    if "prob_reorder" in chosen:
        arguments += ["reorder", f"{chosen['prob_reorder']}%"]
    if "rate" in chosen:
        arguments += ["rate", f"{8 * chosen['rate']}bit"]
    return arguments


def _gemodel(bursts: Bursts) -> list[str]:
    """p, r, 1-h, 1-k of tc-netem(8)."""
    shares = (bursts.to_bad, bursts.to_good, bursts.loss_in_bad, bursts.loss_in_good)
    return [f"{100 * share}%" for share in shares]


def _is_normal(one_way: OneWay) -> bool:
    return one_way.jitter is not None and one_way.jitter.distribution is JitterShape.NORMAL
