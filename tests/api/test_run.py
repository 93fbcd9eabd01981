"""Runs as a notebook sees them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html.parser import HTMLParser
from pathlib import Path

import pytest

import culvert
from culvert.api import opening
from culvert.defect import FILE_VARIABLE, write_error
from culvert.errors import (
    CulvertError,
    JournalError,
    LabError,
    NotPossible,
    StudyError,
    UsageError,
)
from tests.cli import small_study
from tests.compare.runs import STUDY, write_run

QUICK = (900.0, 905.0, 895.0, 902.0, 898.0, 901.0, 899.0)
SLOW = tuple(0.8 * one for one in QUICK)
VALUES = {
    "none": tuple(1.5 * one for one in QUICK),
    "wireguard/go": QUICK,
    "openvpn/aes-256-gcm": SLOW,
}
CLAIM = """
[[claim]]
id = "go-leads"
text = "WireGuard is faster"
source = "made up"
test = "tcp.goodput_bps: wireguard/go > openvpn/aes-256-gcm"
"""


@pytest.fixture
def run(tmp_path: Path) -> culvert.Run:
    study = STUDY.replace('vpns = ["', 'vpns = ["none", "') + CLAIM
    return culvert.open(write_run(tmp_path / "run", VALUES, text=study))


def test_a_run_has_trials_metrics_and_a_summary(run: culvert.Run) -> None:
    assert (run.study, sorted(run.vpns)) == ("made", sorted(VALUES))
    assert run.trials.height == 21
    assert set(run.trials["status"]) == {"ok"}
    tcp = run.metrics("tcp")
    assert tcp.height == run.metrics().height == 21
    assert sorted(tcp.filter(vpn="wireguard/go")["value"]) == sorted(QUICK)
    (median,) = run.summary().filter(vpn="wireguard/go", metric="goodput_bps")["median"]
    assert median == 900.0
    assert run.comparisons().height


def test_what_needs_no_statistics_computes_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = write_run(tmp_path / "run", VALUES)
    monkeypatch.setattr("culvert.report.model.gather", None)
    run = culvert.open(directory)
    assert (run.study, run.trials.height, run.metrics("tcp").height) == ("made", 21, 21)
    assert "21 of 21 trials ok" in repr(run)


def test_only_trials_that_count_have_metrics(tmp_path: Path) -> None:
    some = {"wireguard/go": QUICK}
    lacking = {"openvpn/aes-256-gcm": "no kernel module"}
    run = culvert.open(write_run(tmp_path / "run", some, unsupported=lacking))
    assert set(run.metrics("tcp")["vpn"]) == {"wireguard/go"}
    assert set(run.trials["reason"]) == {"", "no kernel module"}


def test_claims_have_verdicts(run: culvert.Run) -> None:
    assert run.claims().select("id", "verdict").rows() == [("go-leads", "supported")]


def test_what_is_not_there_is_an_error_that_names_what_is(run: culvert.Run) -> None:
    with pytest.raises(UsageError, match='measurement "tpc"') as wrong:
        run.metrics("tpc")
    assert "tcp" in wrong.value.remedy
    with pytest.raises(UsageError, match='chart "nothing"'):
        run.chart("nothing")
    with pytest.raises(JournalError):
        culvert.open(run.directory / "elsewhere")


@pytest.mark.parametrize("tolerance", [-0.01, 0.6, 3.0, float("nan")])
def test_a_tolerance_is_a_share(run: culvert.Run, tolerance: float) -> None:
    with pytest.raises(UsageError, match="tolerance="):
        run.compare_vpns("wireguard/go", "openvpn/aes-256-gcm", tolerance=tolerance)


@pytest.mark.parametrize("alpha", [0.0, 1.0, float("nan")])
def test_an_error_rate_is_small(run: culvert.Run, alpha: float) -> None:
    with pytest.raises(UsageError, match="alpha="):
        run.compare(run.directory, alpha=alpha)


def test_a_comparison_names_what_became_slower(run: culvert.Run, tmp_path: Path) -> None:
    before = write_run(tmp_path / "before", {"wireguard/go": QUICK})
    after = write_run(tmp_path / "after", {"wireguard/go": SLOW})
    found = culvert.open(before).compare(culvert.open(after))
    assert found.regressed
    assert found.table["change"].to_list() == ["slower"]
    assert "slower" in found.markdown()
    assert "<testsuite" in found.junit()
    same = run.compare_vpns("wireguard/go", "openvpn/aes-256-gcm")
    assert same.table["change"].to_list() == ["slower"]
    assert "1 slower" in repr(same)


def test_a_chart_is_altairs_and_has_the_data(run: culvert.Run) -> None:
    assert run.charts
    for name in run.charts:
        spec = run.chart(name).to_dict()
        assert spec["hconcat"]
        assert "wireguard/go" in str(spec)


class _Text(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def test_objects_show_themselves_as_html_without_foreign_markup(tmp_path: Path) -> None:
    title = "Made up"
    study = STUDY.replace(title, "<script>alert(1)</script>")
    nasty = culvert.open(
        write_run(tmp_path / "nasty", VALUES, text=study, unsupported={"xfrm": "<img src=x>"})
    )
    for shown in (nasty, nasty.compare_vpns("wireguard/go", "openvpn/aes-256-gcm")):
        page = _Text()
        page.feed(shown._repr_html_())
        assert page.tags <= {"pre", "span"}
        assert "wireguard/go" in page.text
    assert "21 of 28 trials ok" in repr(nasty)


def test_a_report_is_written(run: culvert.Run, tmp_path: Path) -> None:
    page = run.report(tmp_path / "report")
    assert page == tmp_path / "report/report.html"
    assert page.stat().st_size > 100_000


@pytest.mark.lab
def test_measuring_gives_a_run(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    study = small_study(tmp_path / "small.toml")
    run = culvert.measure(study, tmp_path / "run")
    assert run.trials["status"].to_list() == ["ok"]
    assert run.metrics("rtt").height
    assert "Round trip" in capfd.readouterr().out  # its progress
    with pytest.raises(UsageError, match="run"):
        culvert.measure(study, tmp_path / "run")  # it is there already


@pytest.mark.parametrize(
    ("error", "resume", "ends_as"),
    [
        (None, True, None),
        (LabError("a host", "is lost", "see it"), True, CulvertError),
        (NotPossible("a VPN", "is missing", "install it"), True, NotPossible),
        (NotPossible("a VPN", "is missing", "install it"), False, NotPossible),
    ],
)
def test_a_run_that_was_there_is_returned_unless_an_error_ended_the_command(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    error: CulvertError | None,
    resume: bool,
    ends_as: type[CulvertError] | None,
) -> None:
    write_run(tmp_path / "run", VALUES)

    def command(words: Sequence[str], environment: Mapping[str, str]) -> int:
        """A line of a program that looks like an error is none."""
        print("error: of a VPN's own log")
        monkeypatch.setenv(FILE_VARIABLE, environment[FILE_VARIABLE])
        if error is not None:
            write_error(error)
        return error.exit_code if error else 1

    monkeypatch.setattr(opening, "_printed", command)
    if ends_as is None:
        assert culvert.measure("quick", tmp_path / "run", resume=resume).study
        return
    assert error is not None
    with pytest.raises(ends_as) as raised:
        culvert.measure("quick", tmp_path / "run", resume=resume)
    assert type(raised.value) is ends_as
    assert (raised.value.what, raised.value.why) == (error.what, error.why)
    assert raised.value.remedy == error.remedy


def test_a_wrong_study_is_the_commands_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as wrong:
        culvert.measure("no-such-study", tmp_path / "run")
    assert "no-such-study" in wrong.value.what
    assert wrong.value.remedy
    assert not isinstance(wrong.value, StudyError | NotPossible)
