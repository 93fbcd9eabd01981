"""The tables of the documentation that code knows: ``make docs`` writes them between their markers.

::

    <!-- table of parameters: make docs -->
    | key | what | values | default |
    ...
    <!-- end -->
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from culvert.commands.actions.study import schema_text
from culvert.features.criteria import MEANINGS, Criterion
from culvert.features.framework import Row, framework
from culvert.features.known import known
from culvert.features.show import DIFFERS, mark
from culvert.features.verify.run import TESTS
from culvert.measurements.base import Measurement
from culvert.metrics import EVERY_TRIAL, MetricSpec, Weight
from culvert.study.catalogue import installed_measurements
from culvert.vpns import registry
from culvert.vpns.base import Vpn
from culvert.vpns.registry import installed_catalogue
from tests.docs.reference import page

ROOT = Path(__file__).parents[2]
SCHEMA = ROOT / "docs" / "study.schema.json"
_BEGIN = "<!-- table of {}: make docs -->"
_END = "<!-- end -->"


def documents() -> dict[Path, str]:
    """The text that each file with tables should have."""
    found: dict[Path, str] = {}
    for path, name, make in _TABLES:
        text = found.get(path) or path.read_text(encoding="utf-8")
        found[path] = _placed(text, name, make())
    found[ROOT / "docs" / "driver-reference.md"] = page()
    return found


def own() -> dict[str, type[Measurement[Any]]]:
    """Culvert's own measurements: third parties document theirs."""
    return {
        kind: one
        for kind, one in installed_measurements().items()
        if one.__module__.split(".")[0] == "culvert"
    }


def drivers() -> dict[str, type[Vpn]]:
    """The same of VPNs."""
    found = registry.installed().drivers
    return {name: one for name, one in found.items() if one.__module__.split(".")[0] == "culvert"}


def _measurements() -> str:
    rows = [
        (f"[`{kind}`](docs/methodology/{_page(kind)})", one.summary) for kind, one in own().items()
    ]
    return _table(("measurement", "figures"), rows)


def _parameters() -> str:
    parts = []
    for kind, one in own().items():
        fields = one.Parameters.model_json_schema(by_alias=True)
        defaults = one.Parameters().model_dump(mode="json", by_alias=True)
        rows = [
            (
                f"`{key}`",
                str(field["description"]).replace("\n", " ").replace("``", "`"),
                _values(field, fields.get("$defs", {}), partial(_possible, one, key)),
                _default(defaults[key]),
            )
            for key, field in fields["properties"].items()
        ]
        table = _table(("key", "what", "values", "default"), rows)
        parts.append(f"### `{kind}`\n\n{one.summary.capitalize()[0]}{one.summary[1:]}.\n\n{table}")
    return "\n\n".join(parts)


def _metrics() -> str:
    parts = [f"## Every trial\n\n{_of_metrics(EVERY_TRIAL)}"]
    common = {spec.name for spec in EVERY_TRIAL}
    for kind, one in own().items():
        specs = [spec for spec in one.metrics if spec.name not in common]
        parts.append(f"## `{kind}`\n\n{_of_metrics(specs)}")
    return "\n\n".join(parts)


def _of_metrics(specs: Iterable[MetricSpec]) -> str:
    shown = {Weight.MAIN: "main", Weight.KEY: "compared", Weight.DETAIL: ""}
    rows = [
        (f"`{spec.name}`", spec.unit, spec.title, spec.better.split()[0], shown[spec.weight])
        for spec in specs
    ]
    return _table(("metric", "unit", "what", "better", ""), rows)


def _page(kind: str) -> str:
    """The page of the methodology whose heading names the measurement."""
    for path in sorted((ROOT / "docs" / "methodology").glob("*.md")):
        heading = path.read_text(encoding="utf-8").partition("\n")[0]
        if kind in re.findall(r"\w+", heading):
            return path.name
    raise LookupError(f"no page of docs/methodology has {kind} in its heading")


def _values(
    field: Mapping[str, Any], definitions: Mapping[str, Any], possible: Callable[[str | int], bool]
) -> str:
    """What is allowed, as far as it is a list or a range of numbers."""
    if "$ref" in field:
        return _values(definitions[field["$ref"].rsplit("/", 1)[1]], definitions, possible)
    if "enum" in field:
        return ", ".join(f"`{json.dumps(value)}`" for value in field["enum"] if possible(value))
    if field.get("type") == "boolean":
        return "`true`, `false`"
    if field.get("type") == "integer" and "maximum" in field:
        return f"{field.get('minimum', 0)} to {field['maximum']}"
    for each in field.get("anyOf", ()):
        if found := _values(each, definitions, possible):
            return found
    return ""


def _possible(measurement: type[Measurement[Any]], key: str, value: str | int) -> bool:
    """False for an instrument that cannot measure it."""
    try:
        measurement.Parameters.model_validate({key: value})
    except ValidationError:
        return key != "instrument"
    return True


def _default(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f'`"{value}"`' if isinstance(value, str) else f"`{value}`"


def _what_it_does(test: type) -> str:
    text = " ".join(str(test.__doc__).split()).rstrip(".")
    return text[0].lower() + text[1:]


def _summaries() -> str:
    rows = [(f"`{each.name}`", each.summary) for each in _not_the_baseline()]
    return _table(("VPN", "what"), rows)


def _options() -> str:
    rows = [
        (f"`{each.name}`", f"`+{option}`", text)
        for each in _not_the_baseline()
        for option, text in each.options.items()
    ]
    return _table(("VPN", "option", "what"), rows)


def _not_the_baseline() -> list[type[Vpn]]:
    return [each for each in drivers().values() if each.name != "none"]


def _vpns() -> str:
    rows = [
        (
            f"`{each.name}`",
            each.summary,
            ", ".join(f"`{variant.name}`" for variant in each.variants),
            f"`culvert install {each.name}`" if each.role else "nothing",
        )
        for each in _not_the_baseline()
    ]
    return _table(("VPN", "what", "variants", "to install"), rows)


def _criteria() -> str:
    tests = {test.criterion: f"`{test.name}`: {_what_it_does(test)}" for test in TESTS}
    rows = [
        (f"`{criterion}`", one.importance, one.text, tests.get(criterion, ""))
        for criterion, one in MEANINGS.items()
    ]
    return _table(("criterion", "", "holds if", "test"), rows)


def _documented() -> str:
    rows = framework(known(), [], [])
    columns = [row.name for row in rows]
    lines = [
        (f"`{criterion}`", *(_documented_cell(row, criterion) for row in rows))
        for criterion in Criterion
    ]
    return _table(("criterion", *columns), lines)


def _documented_cell(row: Row, criterion: Criterion) -> str:
    return mark(row.cells[criterion])[0] + (DIFFERS if row.differs(criterion) else "")


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _placed(text: str, name: str, table: str) -> str:
    begin = _BEGIN.format(name)
    before, found, rest = text.partition(begin)
    _, ended, after = rest.partition(_END)
    if not (found and ended):
        raise LookupError(f"{begin} and {_END} are not in the text")
    return f"{before}{begin}\n\n{table}\n\n{_END}{after}"


_TABLES: tuple[tuple[Path, str, Callable[[], str]], ...] = (
    (ROOT / "README.md", "measurements", _measurements),
    (ROOT / "README.md", "VPNs", _summaries),
    (ROOT / "docs" / "study-file.md", "parameters", _parameters),
    (ROOT / "docs" / "metrics.md", "metrics", _metrics),
    (ROOT / "docs" / "vpns.md", "VPNs", _vpns),
    (ROOT / "docs" / "vpns.md", "options", _options),
    (ROOT / "docs" / "features.md", "criteria", _criteria),
    (ROOT / "docs" / "features.md", "documented features", _documented),
)


def main() -> None:
    """Write all of them, and the schema for editors."""
    for path, text in documents().items():
        path.write_text(text, encoding="utf-8")
    SCHEMA.write_text(schema_text(installed_catalogue()) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
