"""Medians for trackers of benchmarks."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl

from culvert.journal.format import Format
from culvert.report.benchmarks import tracked
from tests.cli import Cli
from tests.compare.runs import write_run

FOUND = pl.DataFrame(
    [
        ("goodput_bps", "bit/s", 9, 1e9, 9e8, 1.1e9),
        ("cpu_s_per_gb", "s/GB", 3, 0.5, None, None),
        ("what", "1", 3, 0.5, None, None),
    ],
    schema=["metric", "unit", "n", "median", "low", "high"],
    orient="row",
).with_columns(name=pl.lit("none, TCP"), measurement=pl.lit("tcp"))


def test_bencher_gets_every_metric_with_its_interval() -> None:
    assert tracked(FOUND, Format.BENCHER) == {
        "none, TCP": {
            "goodput-bps": {"value": 1e9, "lower_value": 9e8, "upper_value": 1.1e9},
            "cpu-s-per-gb": {"value": 0.5},
            "what": {"value": 0.5},
        }
    }


def test_github_action_benchmark_gets_one_direction_a_file() -> None:
    assert tracked(FOUND, Format.BIGGER) == [
        {
            "name": "none, TCP: goodput_bps",
            "unit": "bit/s",
            "value": 1e9,
            "range": "9e+08 to 1.1e+09",
            "extra": "median of 9 trials",
        }
    ]
    (smaller,) = tracked(FOUND, Format.SMALLER)
    assert (smaller["name"], smaller["value"]) == ("none, TCP: cpu_s_per_gb", 0.5)
    assert "range" not in smaller


def test_a_run_is_exported(say: Cli, tmp_path: Path) -> None:
    write_run(tmp_path / "run", {"none": [9.0] * 7, "wireguard/go": [4.0, 1, 7, 2, 6, 3, 5]})
    said = say("export", tmp_path / "run", "--format", "bencher")
    (name,) = [key for key in json.loads(said.out) if key.startswith("wireguard/go, ")]
    entry = json.loads(said.out)[name]["goodput-bps"]
    assert entry["lower_value"] < entry["value"] == 4.0 < entry["upper_value"]
    file = tmp_path / "bigger.json"
    say("export", tmp_path / "run", "--format", "customBiggerIsBetter", "--file", file)
    assert {one["name"].partition(",")[0] for one in json.loads(file.read_text())} == {
        "none",
        "wireguard/go",
    }
    say("export", tmp_path / "run", "--format", "customSmallerIsBetter", "--file", file)
    assert json.loads(file.read_text()) == []
