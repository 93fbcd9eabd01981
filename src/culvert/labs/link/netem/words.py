"""netem's options as arguments of ``tc``, for options that the netlink library does not support.

tc replaces all options of a queueing discipline at once, so the arguments contain all of them.
Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from culvert.topology.link.impairment import Bursts, OneWay
from culvert.topology.link.jitter import JitterShape

_SHARES = {"loss": "loss", "duplicate": "duplicate", "corrupt": "prob_corrupt"}
"""tc's option and pyroute2's parameter."""


def needs_tc(one_way: OneWay) -> bool:
    """Whether the request contains an option that only tc supports."""
    return isinstance(one_way.loss, Bursts) or _is_normal(one_way)


def words(one_way: OneWay, chosen: Mapping[str, Any]) -> list[str]:
    """The same as ``chosen`` (``netem_options.options``), with bursts and the distribution."""
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
