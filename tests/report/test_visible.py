"""What changes how other characters are shown does not reach a report."""

from __future__ import annotations

import json
import re
from pathlib import Path

import polars as pl
import pytest

from culvert.report.tables import without_hidden
from culvert.report.visible import HIDDEN, visible, visible_tree
from tests.cli import Cli
from tests.compare.runs import STUDY, write_run

MARKS = (
    "\u202e\u2066\u2069\u200f\u200e\u061c\u202a\u200b\ufeff\u2028\u2029\u00ad\u034f\u3164\u2060"
    "\U000e0041"
)


@pytest.mark.parametrize("mark", MARKS)
def test_marks_are_shown_as_such(mark: str) -> None:
    assert visible(f"a{mark}b") == "a\ufffdb"
    assert visible_tree({f"k{mark}": [f"v{mark}", 1, None]}) == {"k\ufffd": ["v\ufffd", 1, None]}
    table = without_hidden(pl.DataFrame({"x": [f"a{mark}b", None]}))
    assert table["x"].to_list() == ["a\ufffdb", None]


def test_other_text_stays() -> None:
    text = "Zürich\t→ שלום\n日本 1 µs"
    assert visible(text) == text
    assert pl.Series([text]).str.contains(HIDDEN).to_list() == [False]


def test_none_is_in_a_report(say: Cli, tmp_path: Path) -> None:
    evil = "\u202eevil\u2066"
    text = STUDY.replace('"Made up"', f'"Made up {evil}"')
    text += f'[[claim]]\nid = "x"\ntext = "{evil}"\nsource = "{evil}"\n'
    run = write_run(
        tmp_path / "run",
        {"none": [9e8, 9.1e8], "wireguard/go": [5e8, 5.1e8]},
        text=text,
        environment={"cpu": {"model": evil}, "kernel": {"release": evil}, evil: [evil]},
        version=f"1 {evil}",
        unsupported={"openvpn/aes-256-gcm": f"no {evil}"},
    )
    said = say("report", run)
    assert said.code == 0, said.err
    marks = re.compile(f"[{MARKS}]")
    for path in run.rglob("*"):
        if path.suffix in (".csv", ".svg", ".json"):
            content = path.read_text()
            assert not marks.search(content), path
            assert "\\u202e" not in content, path
    page = (run / "report.html").read_text()
    body = re.sub(r"<script(?! type=.application/json).*?</script>", "", page, flags=re.DOTALL)
    assert not marks.search(body)
    assert "\\u202e" not in body
    assert "\ufffdevil\ufffd" in body
    assert not marks.search(said.out)
    assert json.loads(say("report", run, "--json").out)


def test_bars_of_any_sign_are_in_their_picture(say: Cli, tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", {"none": [9e8, 9.1e8], "wireguard/go": [-1e15, -1e14]})
    assert say("report", run).code == 0
    (picture,) = (path for path in run.rglob("*.svg") if "goodput" in path.name)
    width = re.search(r'width="([\d.]+)"', picture.read_text())
    assert width is not None
    assert float(width[1]) < 2000
