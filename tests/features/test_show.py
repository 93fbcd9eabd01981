"""How the framework is shown."""

from __future__ import annotations

import json
from io import StringIO

from rich.console import Console

from culvert.features.framework import Driven, Row, framework
from culvert.features.known import known
from culvert.features.show import as_json, details, overview

from .test_framework import record


def text(renderable: object) -> str:
    out = StringIO()
    Console(file=out, width=200).print(renderable)
    return out.getvalue()


def rows() -> list[Row]:
    seen = record(holds=False, vpn="nebula/aes", version="1.10.3")
    return framework(known(), [Driven("nebula", {"nebula/aes": "1.10.3"})], [seen])


def test_our_table_and_the_papers_are_side_by_side_and_differences_marked() -> None:
    lines = text(overview(rows())).splitlines()
    for number, line in enumerate(lines):
        if line.startswith("zerotier"):
            assert line.split()[1] == "\u2717d\u2260"  # open source
            assert lines[number + 1].split() == ["paper", *["\u2713"] * 7]
        if line.startswith("nebula"):
            assert line.split().count("\u2717v") == 1
        assert not line.startswith("wireguard") or not lines[number + 1].startswith("  paper")


def test_details_name_the_test_or_the_document() -> None:
    (nebula,) = (row for row in rows() if row.name == "nebula")
    shown = text(details(nebula))
    assert "a-test with nebula/aes 1.10.3, 2026-11-22, kernel 6.1" in shown
    assert "https://nebula.defined.net/docs/config/firewall" in shown


def test_json_has_every_cell() -> None:
    document = json.loads(json.dumps(as_json(rows())))
    (nebula,) = (row for row in document if row["vpn"] == "nebula")
    assert nebula["cells"]["relay"]["standing"] == "verified"
    assert nebula["cells"]["connectivity"]["paper"] == "no"
    assert nebula["cells"]["end-to-end"] == {
        "standing": "unknown",
        "answer": None,
        "source": "",
        "note": "",
        "paper": None,
        "differs": False,
    }
