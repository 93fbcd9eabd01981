"""The page of published figures beside those measured here."""

from __future__ import annotations

import json
from pathlib import Path

from bench.published_page import SOURCES, Figures, page, rates

from culvert.journal.readers.formats import ForeignFormat
from culvert.journal.readers.naming import Naming
from culvert.run.importing import ImportRequest, import_files
from tests.journal.readers.samples import IPERF3, KNB_CSV, enclosed


def imported(form: ForeignFormat, files: Path, out: Path, condition: str = "") -> Path:
    import_files(ImportRequest(form, [files], out, Naming(), condition))
    return out


def tree(place: Path) -> Path:
    for minutes, vpn in enumerate(("Internal", "Tinc", "Hyprspace")):
        document = json.loads(IPERF3["tcp-bidirectional"])
        document["start"]["timestamp"]["timesecs"] += 60 * minutes
        path = place / vpn / "baseline" / "0_a" / "tcp_iperf3.json"
        path.parent.mkdir(parents=True)
        path.write_bytes(enclosed(json.dumps(document).encode()))
    return place


def test_each_published_vpn_has_a_row_and_ours_if_it_was_measured(tmp_path: Path) -> None:
    bench = imported(ForeignFormat.VPN_BENCH, tree(tmp_path / "bench"), tmp_path / "a")
    (tmp_path / "all.csv").write_text(KNB_CSV)
    pods = imported(ForeignFormat.KNB, tmp_path / "all.csv", tmp_path / "b")
    for number, vpn in enumerate(("none", "tinc-aes-256-cbc")):
        document = json.loads(IPERF3["tcp-bidirectional"])
        document["start"]["timestamp"]["timesecs"] += number
        document["title"] = vpn.replace("tinc-", "tinc/")
        (tmp_path / f"{vpn}.json").write_text(json.dumps(document))
    (tmp_path / "here").mkdir()
    for name in ("none", "tinc-aes-256-cbc"):
        (tmp_path / f"{name}.json").rename(tmp_path / "here" / f"{name}.json")
    here = imported(ForeignFormat.IPERF3, tmp_path / "here", tmp_path / "c", "clean")
    text = page({"vpn-bench": bench, "kjorveziroski2024": pods}, here)
    assert [line for line in text.splitlines() if line.startswith("## ")] == [
        f"## {source.title}" for source in SOURCES if source.key != "vpn-bench-optimized"
    ]
    rows = {line.split(" | ")[0]: line for line in text.splitlines() if line.startswith("| ")}
    assert "`tinc/aes-256-cbc`" in rows["| tinc"]
    assert "100 %" in rows["| none"]
    assert "not measured | - | -" in rows["| hyprspace"]


def test_a_figure_has_its_range_and_its_share() -> None:
    base = Figures([100.0])
    assert Figures([40.0, 50.0, 90.0]).words(base) == "50 (40 to 90, 3 figures) | 50 %"
    assert Figures(()).words(base) == "- | -"
    assert Figures([7.0]).words(None) == "7 (7 to 7, 1 figure) | -"


def test_runs_of_all_pairs_at_once_are_others(tmp_path: Path) -> None:
    path = tmp_path / "bench" / "Tinc" / "baseline" / "parallel_tcp_iperf3.json"
    path.parent.mkdir(parents=True)
    path.write_bytes(enclosed(IPERF3["tcp-bidirectional"], pairs=2))
    made = imported(ForeignFormat.VPN_BENCH, tmp_path / "bench", tmp_path / "o")
    assert rates(made) == {}
