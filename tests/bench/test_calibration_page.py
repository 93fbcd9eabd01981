"""The table of truths in the documentation."""

from __future__ import annotations

import json

from bench.calibration_page import BEGIN, END, PAGE, placed, table

from culvert.calibration.rows import CalibrationRow, CalibrationVerdict
from culvert.calibration.show import as_json, from_json
from culvert.proof.truth import Judged, rate
from culvert.results import Metric

JUDGED = Judged.of(rate("ndr_pps", 1768, "frames"), Metric("ndr_pps", "packets/s", 1755))
ROWS = [
    CalibrationRow("throughput", "Throughput, 20M", "20M", CalibrationVerdict.RIGHT, JUDGED),
    CalibrationRow("acl", "acl", "", CalibrationVerdict.NEEDS_VPN, reason="there is no policy"),
]


def test_each_truth_of_the_json_is_a_row() -> None:
    rows, seconds = from_json(json.loads(json.dumps(as_json(ROWS, 95.0))))
    assert rows == ROWS
    first, _, _, _, right, vpn = table(rows, seconds, "two cores").splitlines()
    assert first == "On two cores: 1 truth in 1 min 35 s: 1 right."
    cells = [cell.strip() for cell in right.strip("|").split("|")]
    assert cells[:2] == ["Throughput, 20M", "`ndr_pps`"]
    assert cells[-1] == "right"
    assert "needs a VPN: there is no policy" in vpn


def test_the_page_has_a_place_for_it() -> None:
    text = placed(PAGE.read_text(encoding="utf-8"), "another table")
    assert f"{BEGIN}\n\nanother table\n\n{END}" in text
    assert placed(text, "another table") == text
