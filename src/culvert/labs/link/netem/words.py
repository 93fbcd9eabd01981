"""netem's options as arguments of the ``tc`` program, for what the netlink library has not. Pure.

tc replaces all options of a queueing discipline at once, so it is told all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from culvert.topology.link.impairment import Bursts, OneWay
from culvert.topology.link.jitter import JitterShape

_SHARES = {"loss": "loss", "duplicate": "duplicate", "corrupt": "prob_corrupt"}
"""tc's word and pyroute2's parameter."""


def needs_tc(one_way: OneWay) -> bool:
    """Whether something is asked for that only tc can tell the kernel."""
    return isinstance(one_way.loss, Bursts) or _is_normal(one_way)


def words(one_way: OneWay, chosen: Mapping[str, Any]) -> list[str]:
    """The same as ``chosen`` (``netem_options.options``), with bursts and the distribution."""
    said = ["limit", str(chosen["limit"])]
    if chosen["delay"] or chosen["jitter"]:
        said += ["delay", f"{chosen['delay']}us"]
    if chosen["jitter"]:
        said.append(f"{chosen['jitter']}us")
    if _is_normal(one_way):
        said += ["distribution", "normal"]
    for word, parameter in _SHARES.items():
        if chosen.get(parameter):
            said += [word, f"{chosen[parameter]}%"]
    if isinstance(one_way.loss, Bursts):
        said += ["loss", "gemodel", *_gemodel(one_way.loss)]
    if "prob_reorder" in chosen:
        said += ["reorder", f"{chosen['prob_reorder']}%"]
    if "rate" in chosen:
        said += ["rate", f"{8 * chosen['rate']}bit"]
    return said


def _gemodel(bursts: Bursts) -> list[str]:
    """p, r, 1-h, 1-k of tc-netem(8)."""
    shares = (bursts.to_bad, bursts.to_good, bursts.loss_in_bad, bursts.loss_in_good)
    return [f"{100 * share}%" for share in shares]


def _is_normal(one_way: OneWay) -> bool:
    return one_way.jitter is not None and one_way.jitter.distribution is JitterShape.NORMAL
