"""What a bad commit is said to have: ``tcp slower by 5 %``, ``tcp goodput falls by 5 %``."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from culvert.errors import UsageError
from culvert.metrics import EVERY_TRIAL
from culvert.study.catalogue import installed_measurements
from culvert.study.table import near

_SLOWER = re.compile(r"\s*(\w+)\s+slower\s+by\s+(\d+(?:\.\d+)?)\s*%\s*")
_CLAIM = re.compile(r"\s*(\w+)[\s.]+(\w+)\s+(falls|rises)\s+by\s+(\d+(?:\.\d+)?)\s*%\s*")


@dataclass(frozen=True)
class Claim:
    """``change`` is the logarithm of the claimed ratio to the good commit: the smallest change that
    matters. ``metric`` None: the primary figure of the gate of ``culvert versions``, with its
    covariate."""

    measurement: str
    metric: str | None
    change: float

    @classmethod
    def read(cls, text: str) -> Claim:
        """A measurement, a metric or the word that its name begins with, and a percentage.

        Raises UsageError.
        """
        known = installed_measurements()
        if slower := _SLOWER.fullmatch(text):
            kind, word, way, percent = slower[1], None, "rises", slower[2]
        elif found := _CLAIM.fullmatch(text):
            kind, word, way, percent = found.groups()
        else:
            raise _wrong(text, "it is not a claim", 'write "tcp goodput falls by 5 %"')
        if kind not in known:
            raise _wrong(text, f'no measurement is named "{kind}"', near(kind, known))
        share = float(percent) / 100 * (1 if way == "rises" else -1)
        if share <= -1 or share == 0:
            raise _wrong(text, f"nothing {way} by {percent} %", 'write "falls by 5 %"')
        metric = None if word is None else _metric(text, kind, word)
        return cls(kind, metric, math.log1p(share))


def metric_names(kind: str) -> list[str]:
    """Of an installed measurement, with those of every trial."""
    return [spec.name for spec in (*installed_measurements()[kind].metrics, *EVERY_TRIAL)]


def _metric(text: str, kind: str, word: str) -> str:
    names = metric_names(kind)
    headline = getattr(installed_measurements()[kind], "headline", "")
    if word in names:
        return word
    begin = [name for name in names if name.startswith(f"{word}_")]
    if headline in begin or len(begin) == 1:
        return headline if headline in begin else begin[0]
    raise _wrong(text, f'it has no metric "{word}"', near(word, begin or names))


def _wrong(text: str, why: str, remedy: str) -> UsageError:
    return UsageError(f'--claim "{text}"', why, remedy)
