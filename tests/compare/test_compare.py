from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from culvert.analysis.compare.verdict import Change
from culvert.commands.actions.compare import share
from culvert.compare.document import document
from culvert.compare.junit import junit
from culvert.compare.outcome import CompareOutcome, compare
from culvert.compare.sheet import markdown
from culvert.compare.side import sides
from culvert.compare.words import lines, method, missing, sheet, signed_percent, summary
from culvert.errors import UsageError
from tests.cli import Cli
from tests.compare.runs import KERNEL, STUDY, write_run

GO, OVPN = "wireguard/go", "openvpn/aes-256-gcm"


def series(mean: float, seed: int, n: int = 10) -> list[float]:
    return list(mean * (1 + 0.005 * np.random.default_rng(seed).standard_normal(n)))


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One run, one like it, one where WireGuard is slower on another machine."""
    folder = tmp_path_factory.mktemp("runs")
    machine = {"kernel": {"release": "6.2"}, "cpu": KERNEL["cpu"]}
    return {
        "before": write_run(
            folder / "before",
            {"none": series(9e8, 1), GO: series(5e8, 2), OVPN: series(3e8, 3)},
        ),
        "alike": write_run(
            folder / "alike",
            {"none": series(9e8, 4), GO: series(5e8, 5), OVPN: series(3e8, 6)},
            version="1.1",
        ),
        "slower": write_run(
            folder / "slower",
            {"none": series(7e8, 7), GO: series(4e8, 8)},
            environment=machine,
            unsupported={OVPN: "no tun device"},
        ),
    }


def outcome(a: Path, b: Path, **options: object) -> CompareOutcome:
    first, second = sides([str(a), str(b)], [])
    return compare(first, second, tolerance=0.03, alpha=0.05, **options)  # type: ignore[arg-type]


def test_equal_runs_are_the_same(runs: dict[str, Path]) -> None:
    found = outcome(runs["before"], runs["alike"])
    assert not found.regressed
    assert found.counts[Change.SAME] == 2
    assert found.warnings == ()
    assert summary(found) == "2 same within 3 %"


def test_a_slower_vpn_is_a_regression_a_slower_machine_a_warning(runs: dict[str, Path]) -> None:
    found = outcome(runs["before"], runs["slower"])
    assert found.regressed
    assert {one.vpn: one.change for one in found.found} == {
        GO: Change.SLOWER,
        "none": Change.SLOWER,
    }
    assert found.counts[Change.SLOWER] == 1
    assert any("kernel differs: 6.1, then 6.2" in warning for warning in found.warnings)
    assert any("link without a VPN" in warning for warning in found.warnings)
    assert missing(found) == [f"not in B: TCP of {OVPN} (unsupported: no tun device)"]


def test_a_machine_that_changed_alone_is_no_regression(tmp_path: Path) -> None:
    a = write_run(tmp_path / "a", {"none": series(9e8, 1), GO: series(5e8, 2)})
    b = write_run(tmp_path / "b", {"none": series(7e8, 3), GO: series(5e8, 4)})
    assert not outcome(a, b).regressed


def test_two_vpns_of_one_run_are_compared_block_by_block(runs: dict[str, Path]) -> None:
    a, b = sides([str(runs["before"])], [GO, OVPN])
    found = compare(a, b, tolerance=0.03, alpha=0.05)
    assert found.paired
    (one,) = found.found
    assert one.change is Change.SLOWER
    assert one.ratio == pytest.approx(0.6, rel=0.02)
    other = sides([f"{runs['before']}:{GO}", f"{runs['alike']}:{OVPN}"], [])
    assert not compare(*other, tolerance=0.03, alpha=0.05).paired


def test_the_forms_say_the_same(runs: dict[str, Path]) -> None:
    found = outcome(runs["before"], runs["slower"])
    told = json.loads(json.dumps(document(found), allow_nan=False))
    assert told["regressed"]
    assert told["counts"]["slower"] == 1
    assert {one["vpn"] for one in told["comparisons"]} == {GO, "none"}
    assert told["comparisons"][0]["change"] == "slower"
    suite = ElementTree.fromstring(junit(found))
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("3", "1", "1")
    (failure,) = suite.iter("failure")
    assert lines(found)[0].change in str(failure.get("message"))
    text = markdown(sheet(found))
    assert text.startswith("### 1 slower\n")
    assert "| **slower** | wireguard/go | TCP | goodput\\_bps |" in text


def test_junit_has_both_figures_where_there_is_no_ratio(tmp_path: Path) -> None:
    a, b = (write_run(tmp_path / f"{one:g}", {GO: [one] * 5}) for one in (0.0, 5e8))
    for first, second, figures in ((a, b, "0 Mbit/s, then 500"), (b, a, "500 Mbit/s, then 0")):
        assert figures in junit(outcome(first, second))


def test_what_scatters_beyond_measure_is_still_told(tmp_path: Path) -> None:
    wild = [1.0, 1e9, 10.0, 1e6, 1e9]
    a, b = (write_run(tmp_path / name, {GO: wild, OVPN: wild[::-1]}) for name in ("a", "b"))
    found = outcome(a, b)
    assert set(found.counts) >= {Change.UNCLEAR}
    json.dumps(document(found), allow_nan=False)
    assert "over +99\u202f900" in markdown(sheet(found))


def test_foreign_text_is_no_markup(tmp_path: Path) -> None:
    environment = {"kernel": {"release": "<b>|`x`\n# y\x1b[31m\x00"}}
    a = write_run(tmp_path / "a", {GO: series(5e8, 1)})
    b = write_run(tmp_path / "b", {GO: series(5e8, 2)}, environment=environment)
    found = outcome(a, b)
    text = markdown(sheet(found))
    assert "\\<b\\>\\|\\`x\\` \\# y" in text
    assert "\x1b" not in text
    ElementTree.fromstring(junit(found))


def test_only_and_metrics_choose(runs: dict[str, Path]) -> None:
    assert {one.vpn for one in outcome(runs["before"], runs["alike"], only=[GO]).found} == {GO}
    for options, words in (
        ({"only": ["tinc"]}, "--only"),
        ({"metrics": ("godput_bps",)}, "no metric is named godput_bps"),
    ):
        with pytest.raises(UsageError, match=words):
            outcome(runs["before"], runs["alike"], **options)


def test_other_parameters_are_other_cells(tmp_path: Path) -> None:
    a = write_run(tmp_path / "a", {GO: series(5e8, 1)})
    b = write_run(tmp_path / "b", {GO: series(5e8, 2)}, text=STUDY + 'duration = "3s"\n')
    with pytest.raises(UsageError, match="no cell in common"):
        outcome(a, b)


@pytest.mark.parametrize(
    ("words", "vpns", "why"),
    [
        (["{before}"], [], "only one run is given"),
        (["{before}"], [GO], "two VPNs of one run"),
        (["{before}", "{alike}"], [GO, OVPN], "two VPNs of one run"),
        (["{before}", "{before}"], [], "both sides are the same"),
        (["{before}:wireguard/go", "{alike}"], [], "one side is a VPN"),
        (["{before}:wireguard/goo", "{alike}:wireguard/go"], [], "it is not in"),
        (["{before}"], ["none", GO], "it is the baseline"),
        (["{before}", "nowhere"], [], "no journal"),
        (["{before}", ":x"], [], "neither DIR nor DIR:VPN"),
    ],
)
def test_wrong_use_is_said(
    runs: dict[str, Path], words: list[str], vpns: list[str], why: str
) -> None:
    with pytest.raises(UsageError, match=why):
        sides([word.format(**runs) for word in words], vpns)


def test_a_directory_may_have_a_colon(tmp_path: Path) -> None:
    a = write_run(tmp_path / "a:b", {GO: series(5e8, 1)})
    b = write_run(tmp_path / "c", {GO: series(5e8, 2)})
    assert outcome(a, b).counts[Change.SAME] == 1


@pytest.mark.parametrize(
    ("text", "value"), [("3%", 0.03), ("0.03", 0.03), ("0", 0), (".5 %", 0.005)]
)
def test_shares_are_read(text: str, value: float) -> None:
    assert share(text, "--tolerance", most=0.5) == pytest.approx(value)


@pytest.mark.parametrize("text", ["3", "-1%", "x", "", "60%", "nan", "1e-3"])
def test_shares_out_of_range_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="it must be a share from 0 to"):
        share(text, "--tolerance", most=0.5)


@pytest.mark.parametrize(
    ("ratio", "told"),
    [
        ((0.951, 0.94, 0.962), "\u22124.9 % [\u22126.0, \u22123.8]"),
        ((1.0, 1.0, 1.0), "0.0 % [0.0, 0.0]"),
        ((2.0, 1.5, 2.5), "+100 % [+50, +150]"),
        ((2.0, 0.0, 1e300), "+100 % [\u2212100, over +99\u202f900]"),
    ],
)
def test_changes_in_words(ratio: tuple[float, float, float], told: str) -> None:
    assert signed_percent(*ratio) == told


def test_the_command_and_its_exit_codes(say: Cli, runs: dict[str, Path], tmp_path: Path) -> None:
    alike = say("compare", runs["before"], runs["alike"])
    assert alike.code == 0, alike.err
    assert "2 same within 3 %" in alike.out
    slower = say("compare", runs["before"], runs["slower"], "--format", "junit")
    assert slower.code == 1
    ElementTree.fromstring(slower.out)
    out = tmp_path / "out.md"
    words = ("--vpn", GO, "--vpn", OVPN, "--format", "markdown", "--out", out)
    assert say("compare", runs["before"], *words).code == 1
    assert out.read_text().startswith("### 1 slower")
    say("compare", runs["before"], "nowhere").refused(2, "no journal")
    only = ("--vpn", GO, "--vpn", OVPN, "--only", GO)
    say("compare", runs["before"], *only).refused(2, "matches nothing of one side")


def test_a_directory_whose_name_is_no_text(say: Cli, tmp_path: Path) -> None:
    a, b = (write_run(tmp_path / os.fsdecode(name), {GO: [5e8] * 6}) for name in (b"a\xff", b"b"))
    for form in ("json", "markdown", "junit", "text"):
        said = say("compare", a, b, "--format", form, "--out", tmp_path / "out")
        assert said.code == 0, said.err
        assert (tmp_path / "out").read_text()


def test_several_runs_a_side(say: Cli, tmp_path: Path) -> None:
    def run(name: str, mean: float, seed: int) -> Path:
        return write_run(tmp_path / name, {GO: series(mean, seed)})

    before = [run(f"before{i}", 5e8 * (1 + 0.002 * i), i) for i in range(3)]
    after = [run(f"after{i}", 4e8 * (1 + 0.002 * i), 10 + i) for i in range(3)]
    told = say("compare", *before, "--", *after, "--json")
    assert told.code == 1, told.err
    content = json.loads(told.out)
    assert [len(content["runs"][side]) for side in ("a", "b")] == [3, 3]
    (one,) = content["comparisons"]
    assert (one["change"], one["runs_a"], one["runs_b"]) == ("slower", 3, 3)
    assert "run by run" in say("compare", *before, "--", *after).out.replace("\n", " ")
    say("compare", *before).refused(2, "which of these 3 runs are A and which are B")
    say("compare", *before, "--").refused(2, "which of these 3 runs")
    say("compare", before[0], "--", before[0]).refused(2, "both sides are the same")
    copy = str(shutil.copytree(before[0], tmp_path / "copy"))
    say("compare", before[0], copy).refused(2, "both sides are the same")
    say("compare", *before, copy, "--", *after).refused(2, "a run is given twice")


def test_one_run_a_side_says_what_it_cannot_know(runs: dict[str, Path]) -> None:
    assert "One run per side" in method(outcome(runs["before"], runs["alike"]))


def test_an_emulated_kernel_compares_with_itself_only(tmp_path: Path) -> None:
    def run(name: str, environment: Mapping[str, object]) -> Path:
        values = {GO: series(5e8, 2), OVPN: series(3e8, 3), "wireguard/kernel": series(8e8, 4)}
        text = STUDY.replace(f'"{GO}"', f'"{GO}", "wireguard/kernel"')
        return write_run(tmp_path / name, values, text=text, environment=environment)

    emulated = {**KERNEL, "not_comparable": "emulated", "guest": {"hypervisor": "uml"}}
    guest, other, machine = run("guest", emulated), run("other", emulated), run("machine", KERNEL)

    def told(a: Path, b: Path, *vpns: str) -> set[Change]:
        words = [str(path) for path in dict.fromkeys((a, b))]
        found = compare(*sides(words, list(vpns)), tolerance=0.03, alpha=0.05)
        assert any(text.startswith("emulated") for text in found.warnings) == (
            Change.UNCLEAR in {one.change for one in found.found} or a != b
        )
        return {one.change for one in found.found}

    assert told(guest, other) == {Change.SAME}
    assert told(guest, machine) == {Change.UNCLEAR}
    assert told(guest, guest, GO, OVPN) == {Change.SLOWER}
    assert told(guest, guest, GO, "wireguard/kernel") == {Change.UNCLEAR}
    across = compare(*sides([str(guest)], [GO, "wireguard/kernel"]), tolerance=0.03, alpha=0.05)
    assert {(one.ratio, one.p_adjusted) for one in across.found} == {(None, None)}
    assert told(machine, machine, GO, "wireguard/kernel") == {Change.FASTER}
