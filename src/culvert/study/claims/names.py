"""Resolves the words of a claim in a study: its VPNs, conditions, measurements and parameters."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from culvert.json_text import read_json
from culvert.results import canonical_json
from culvert.study.catalogue import Catalogue
from culvert.study.parameters import Requested
from culvert.study.table import near
from culvert.study.vpn_id import BASELINE
from culvert.units import QuantityError, convert


class UnknownNameError(ValueError):
    """A word that is not a name of this study. The parser adds the column."""

    def __init__(self, why: str, remedy: str) -> None:
        super().__init__(why)
        self.why = why
        self.remedy = remedy


@dataclass(frozen=True)
class StudyNames:
    """``spellings`` maps VPNs as written in the study to their ids; ``requested`` are its
    measurements of all conditions."""

    spellings: Mapping[str, str]
    conditions: Sequence[str]
    requested: Sequence[Requested]
    catalogue: Catalogue

    def unit_of(self, measurement: str, metric: str) -> str:
        """The unit of a metric; empty for a measurement that is not installed."""
        kinds = sorted({one.kind for one in self.requested})
        if measurement not in kinds:
            raise UnknownNameError(
                f'the study has no measurement "{measurement}"', near(measurement, kinds)
            )
        units = self.catalogue.units(measurement)
        if units is None:
            return ""
        if metric not in units:
            raise UnknownNameError(
                f'the measurement "{measurement}" has no metric "{metric}"', near(metric, units)
            )
        return units[metric]

    def vpn(self, word: str) -> str:
        if word in self.spellings:
            return self.spellings[word]
        ids = sorted(set(self.spellings.values()))
        if word in ids:
            return word
        raise UnknownNameError(f'the study has no VPN "{word}"', near(word, ids))

    def rivals(self, vpn: str) -> Sequence[str]:
        """Every VPN of the study except this one and the baseline."""
        ids = dict.fromkeys(self.spellings.values())
        found = [one for one in ids if one not in (vpn, BASELINE)]
        if not found:
            raise UnknownNameError(
                f"the study has no VPN except {vpn} and the baseline",
                "name the side that it is compared with",
            )
        return found

    def condition(self, word: str) -> str:
        if word not in self.conditions:
            raise UnknownNameError(
                f'the study has no condition "{word}"', near(word, self.conditions)
            )
        return word

    def parameter(self, measurement: str, key: str, word: str) -> str:
        """The canonical JSON of a value; at least one cell of the measurement must have it."""
        return self.value(measurement, key, _literal(word))

    def value(self, measurement: str, key: str, value: Any) -> str:
        """As ``parameter``, for a value of any type."""
        values: dict[str, None] = {}
        known: dict[str, None] = {}
        for one in self.requested:
            if one.kind != measurement:
                continue
            given = one.parameters.values
            known.update(dict.fromkeys(given))
            if key not in given:
                continue
            own = canonical_json(given[key])
            if own in (canonical_json(value), self._read(one, given, key, value)):
                return own
            values[own] = None
        if key not in known:
            where = f'the measurement "{measurement}" has no parameter "{key}"'
            raise UnknownNameError(where, near(key, ["condition", *known]))
        shown = ", ".join(values)
        why = f"no cell of {measurement} has {key} = {canonical_json(value)}"
        raise UnknownNameError(why, f"cells have {shown}")

    def quantity(self, number: float, unit: str, metric_unit: str) -> float:
        """A quantity in the unit of the metric; unchanged if that unit is unknown."""
        if not metric_unit:
            return number
        try:
            return convert(number, unit or "1", metric_unit)
        except QuantityError as error:
            raise UnknownNameError(error.why, error.remedy) from None

    def _read(self, one: Requested, given: Mapping[str, Any], key: str, value: Any) -> str | None:
        """The value as the measurement's own model serializes it."""
        model = self.catalogue.measurements.get(one.kind)
        if model is None:
            return None
        for candidate in (value, str(value)):
            changed = json.dumps({**given, key: candidate})
            try:
                read = model.Parameters.model_validate_json(changed)
            except (ValidationError, ValueError):
                continue
            return canonical_json(read.model_dump(mode="json", by_alias=True).get(key))
        return None


def _literal(word: str) -> Any:
    """A value as written in a claim: a number, true, false, or text with or without quotes."""
    try:
        return read_json(word)
    except ValueError:
        return word.strip("'\"")
