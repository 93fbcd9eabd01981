"""A study from a few words of the command line, for a comparison without a study file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from culvert.study.catalogue import Catalogue
from culvert.study.toml import literal
from culvert.study.vpn_id import BASELINE


@dataclass(frozen=True)
class AdHoc:
    """``link`` are keys of its one condition, as written: rate, delay, loss. ``duration`` is that
    of each measurement that has one. All values are checked when the study is read."""

    vpns: Sequence[str]
    kinds: Sequence[str]
    budget: str
    duration: str
    link: Mapping[str, str] = field(default_factory=dict)

    def text(self, catalogue: Catalogue) -> str:
        """The study as TOML, with the baseline, until its time is used up."""
        vpns = list(dict.fromkeys((BASELINE, *self.vpns)))
        # Without an impairment a wire would only cost CPU time.
        link = 'kind = "wire"' if self.link else 'kind = "veth", offloads = false'
        lines = [
            'name = "bench"',
            f"title = {literal(', '.join(self.vpns) + ': ' + ', '.join(self.kinds))}",
            f"vpns = [{', '.join(map(literal, vpns))}]",
            "\n[lab]",
            f"link = {{ {link} }}",
            'cpus = "split"',
        ]
        if self.link:
            lines += ["\n[[condition]]", 'name = "link"']
            lines += [f"{key} = {literal(value)}" for key, value in self.link.items()]
        for kind in self.kinds:
            lines += ["\n[[measurement]]", f"kind = {literal(kind)}"]
            measurement = catalogue.measurements.get(kind)
            if measurement is not None and "duration_s" in measurement.Parameters.model_fields:
                lines.append(f"duration = {literal(self.duration)}")
        lines += ["\n[plan]", f"blocks = {{ budget = {literal(self.budget)} }}"]
        return "\n".join([*lines, ""])
