"""A study from a few words of the command line, for a comparison without a study file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from culvert.study.catalogue import Catalogue
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
            f"title = {_text(', '.join(self.vpns) + ': ' + ', '.join(self.kinds))}",
            f"vpns = [{', '.join(map(_text, vpns))}]",
            "\n[lab]",
            f"link = {{ {link} }}",
            'cpus = "split"',
        ]
        if self.link:
            lines += ["\n[[condition]]", 'name = "link"']
            lines += [f"{key} = {_text(value)}" for key, value in self.link.items()]
        for kind in self.kinds:
            lines += ["\n[[measurement]]", f"kind = {_text(kind)}"]
            measurement = catalogue.measurements.get(kind)
            if measurement is not None and "duration_s" in measurement.Parameters.model_fields:
                lines.append(f"duration = {_text(self.duration)}")
        lines += ["\n[plan]", f"blocks = {{ budget = {_text(self.budget)} }}"]
        return "\n".join([*lines, ""])


def _text(value: str) -> str:
    """JSON's strings are TOML's; only DEL has to be escaped too."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
