from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from culvert.analysis.claims.verdict import ClaimEffect, Judged, Part, Verdict
from culvert.report.labels import Labels
from culvert.report.views.claims import evidence
from tests.cli import Cli
from tests.compare.runs import STUDY, write_run

GO, OVPN = "wireguard/go", "openvpn/aes-256-gcm"
NASTY = "<script>alert(1)</script> =cmd [bold]x[/bold]"

CLAIMS = f"""
[[claim]]
id = "first"
text = "WireGuard leads"
source = "us"
test = "tcp.goodput_bps: {GO} > all"
published = {{ value = 900, unit = "Mbit/s", place = "table 1" }}
[[claim]]
id = "nasty"
text = "{NASTY}"
[[published]]
vpn = "{GO}"
measurement = "tcp"
metric = "goodput_bps"
value = 1
unit = "Gbit/s"
place = "table 2"
"""


def series(mean: float, seed: int) -> list[float]:
    return list(mean * (1 + 0.005 * np.random.default_rng(seed).standard_normal(10)))


def test_claims_and_published_values_in_all_forms(say: Cli, tmp_path: Path) -> None:
    values = {"none": series(9e8, 1), GO: series(5e8, 2), OVPN: series(3e8, 3)}
    run = write_run(tmp_path / "run", values, text=STUDY + CLAIMS)
    told = say("report", run)
    assert told.code == 0, told.err
    assert "claim (1 supported, 1 not testable here)" in told.out
    assert "over 10 blocks, adjusted p < 0.001" in told.out
    assert "[bold]x[/bold]" in told.out
    page = (run / "report.html").read_text()
    assert "WireGuard leads" in page
    assert "published: 900 Mbit/s (table 1)" in page
    assert "<script>alert" not in page
    claims = pl.read_csv(run / "tables" / "claims.csv")
    assert claims["verdict"].to_list() == ["supported", "not testable here"]
    published = pl.read_csv(run / "tables" / "published.csv")
    assert published["published"].to_list() == [1e9]
    assert abs(published["ratio"].item() - 0.5) < 0.01


def test_what_an_emulated_kernel_divides_gets_no_verdict(say: Cli, tmp_path: Path) -> None:
    kernel = "wireguard/kernel"
    values = {"none": series(9e8, 1), GO: series(5e8, 2), OVPN: series(3e8, 3), kernel: [7e8] * 10}
    environment = {"not_comparable": "functional: an emulated kernel"}
    across = f"""
[[claim]]
id = "across"
text = "the kernel's is faster"
test = "tcp.goodput_bps: {kernel} > {GO}"
[[claim]]
id = "on-one-side"
text = "WireGuard leads in user space"
test = "tcp.goodput_bps: {GO} > {OVPN}"
"""
    text = STUDY.replace(f'"{GO}"', f'"{GO}", "{kernel}"') + CLAIMS + across
    run = write_run(tmp_path / "run", values, text=text, environment=environment)
    told = say("report", run)
    assert told.code == 0, told.err
    claims = pl.read_csv(run / "tables" / "claims.csv")
    verdicts = dict(claims.select("id", "verdict").iter_rows())
    assert verdicts["across"] == "not testable here"
    assert verdicts["on-one-side"] == "supported"
    why = claims.filter(pl.col("id") == "across")["why"].item()
    assert why.startswith("functional: an emulated kernel (wireguard/go: user space, ")
    compared = set(pl.read_csv(run / "tables" / "comparisons.csv").select("a", "b").iter_rows())
    assert compared == {("none", kernel), (OVPN, GO)}
    ratios = pl.read_csv(run / "tables" / "ratio-to-baseline.csv")
    assert set(ratios["vpn"].to_list()) == {kernel}
    page = (run / "report.html").read_text()
    assert "functional: an emulated kernel" in page
    assert "Highest TCP goodput" not in page
    assert page.count("not comparable with the baseline here") == 2  # those in user space


def judged(verdict: Verdict, effect: ClaimEffect | None, more: int | None, why: str = "") -> Judged:
    part = Part("A > B", "clean", "{}", effect, 0.001, 1.0, 10, paired=True)
    told = part if effect else None
    return Judged(
        "c", "text", "", "", "", "tcp.goodput_bps", "bit/s", verdict, 0.02, told, (part,), more, why
    )


def test_the_evidence_in_words() -> None:
    labels = Labels(pl.DataFrame(schema=dict.fromkeys(("condition", "measurement", "parameters"))))
    ratio = ClaimEffect(1.42, 1.38, 1.47, ratio=True)
    for one, words in (
        (
            judged(Verdict.SUPPORTED, ratio, None),
            "1.42\u00d7 [1.38, 1.47] over 10 blocks, adjusted p = 0.02",
        ),
        (
            judged(Verdict.UNDECIDED, None, 7, "3 of 5"),
            "3 of 5; at least 7 more repetitions needed",
        ),
        (judged(Verdict.UNDECIDED, None, None, "it drifts"), "it drifts"),
        (
            judged(Verdict.SUPPORTED, ClaimEffect(2e7, 1e7, 3e7, ratio=False), None),
            "+20 Mbit/s [10, 30] over 10 blocks, adjusted p = 0.02",
        ),
        (
            judged(Verdict.UNDECIDED, ClaimEffect(2.0, 0.1, 1e200, ratio=True), 1),
            "2.00\u00d7 [0.100, over 1\u202f000] over 10 blocks, adjusted p = 0.02; "
            "about 1 more block would decide",
        ),
        (
            judged(Verdict.UNDECIDED, ClaimEffect(1.42, 0.9, 1.9, ratio=True), 1663),
            "1.42\u00d7 [0.90, 1.90] over 10 blocks, adjusted p = 0.02; "
            "over 200 more blocks would decide",
        ),
    ):
        assert evidence(one, labels) == words
