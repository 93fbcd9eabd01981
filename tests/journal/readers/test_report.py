"""What the report makes of an import: no proof that nobody made, no winner that is no VPN."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from culvert.console import SafeConsole
from culvert.errors import StudyError
from culvert.journal.readers.formats import ForeignFormat
from culvert.journal.readers.naming import Naming
from culvert.report.html.page import facts
from culvert.report.model import Data, read
from culvert.report.terminal.summary import summary_of
from culvert.report.views.headline import headline_views
from culvert.report.views.trials import trial_list
from culvert.report.views.trust import limits, trust
from culvert.run.importing import ImportRequest, import_files

from .samples import IPERF3, KNB_HEADER, PING

NAMES = {"11-native-mtu1230": 700, "12-native-mtu1450": 770, "31-netbird": 690, "41-zerotier": 300}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Data:
    directory = tmp_path_factory.mktemp("report")
    rows = [
        f"{name},pod2pod,s,c,2M,1230,{mbps + number},7,1,7,1,{protocol},0,0"
        for number in range(6)
        for name, mbps in NAMES.items()
        for protocol in ("tcp", "udp")
    ]
    source = directory / "all.csv"
    source.write_text("\n".join([KNB_HEADER, *rows, "cut"]))
    out = directory / "run"
    import_files(ImportRequest(ForeignFormat.KNB, [source], out, Naming(), ""))
    return read(out)


def test_it_says_that_it_was_imported(data: Data) -> None:
    told = trust(data)
    assert (told.level, told.title) == ("mixed", "Imported: not proved by Culvert")
    said = "; ".join(limits(data))
    assert 'the baseline "none" is native-mtu1230' in said
    assert "further runs without a VPN: none/native-mtu1450" in said
    assert "places of the files that could not be read: 1" in said
    assert ("Trials", "48") in facts(data)
    names = [name for name, _ in facts(data)]
    assert "Imported" in names
    assert not {"Measured", "Took", "Governor"} & set(names)


def test_the_terminal_says_that_no_block_pairs_the_runs(data: Data) -> None:
    console = SafeConsole(width=200, file=io.StringIO())
    with console.capture() as captured:
        console.print(summary_of(data))
    assert "relates to none in runs of another time" in captured.get()
    assert "same blocks" not in captured.get()
    assert "at most 6 runs of a cell: intervals are wide" in str(limits(data))


def test_one_run_of_each_needs_more_trials_not_blocks(tmp_path: Path) -> None:
    for name, began in (("home", "[1795183239."), ("office", "[1795183339.")):
        (tmp_path / f"{name}.txt").write_text(PING.replace("[1795183239.", began))
    files = sorted(tmp_path.glob("*.txt"))
    import_files(ImportRequest(ForeignFormat.PING, files, tmp_path / "run", Naming(), ""))
    (view,) = headline_views(read(tmp_path / "run"))
    assert {one.standing for one in view.winners} == {
        "1 trial is too few to compare it with office: about 4 more"
    }


def test_no_trial_shows_checks_that_nobody_made(data: Data) -> None:
    listed = trial_list(data).trials
    assert len(listed) == 48
    assert all(trial.checks == () for trial in listed)


def test_a_link_without_a_vpn_is_never_the_best_vpn(data: Data) -> None:
    (headline,) = data.headlines
    assert headline.vpns[0] == "none"
    assert {winner.vpn for winner in headline.winners.values()} == {"netbird"}
    assert {winner.contenders for winner in headline.winners.values()} == {2}


def test_udp_without_a_stated_rate_is_no_headline(data: Data) -> None:
    (view,) = headline_views(data)
    assert [title for title, _ in view.columns] == ["TCP goodput"]
    assert [card.title for card in view.winners] == ["Highest TCP goodput"]


@pytest.mark.parametrize(
    ("bps", "titles"), [(0, []), (10_000_000, ["Highest UDP goodput under equal load"])]
)
def test_only_iperf3_at_one_rate_has_a_card_for_udp(
    tmp_path: Path, bps: int, titles: list[str]
) -> None:
    """``iperf3 -u -b 0`` is a flood, ``-b 10M`` is not."""
    paths = []
    for name, goodput_bps in (("a", 9e6), ("b", 8e6)):
        document = json.loads(IPERF3["udp"])
        document["title"] = name
        document["start"]["test_start"]["target_bitrate"] = bps
        document["end"]["sum_received"]["bits_per_second"] = goodput_bps
        paths.append(tmp_path / f"{name}.json")
        paths[-1].write_text(json.dumps(document), "utf-8")
    out = tmp_path / "run"
    import_files(ImportRequest(ForeignFormat.IPERF3, paths, out, Naming(), ""))
    found = read(out)
    assert set(found.observed["vpn"]) == {"a", "b"}
    assert [card.title for view in headline_views(found) for card in view.winners] == titles


STUDY = """
name = "mine"
vpns = ["none", "wireguard/go"]
[[measurement]]
kind = "tcp"
[[measurement]]
kind = "rtt"
[[claim]]
id = "alike"
text = "netbird carries what the link carries"
test = "tcp.goodput_bps: wireguard/go within 5% of none"
[[claim]]
id = "late"
text = "netbird answers late"
test = "rtt.rtt_p50_us: wireguard/go > none"
[[published]]
vpn = "wireguard/go"
measurement = "tcp"
metric = "goodput_bps"
value = 345
unit = "Mbit/s"
place = "table 1"
"""


def test_a_study_s_claims_are_judged_by_an_import(tmp_path: Path) -> None:
    names = {"11-native-mtu1230": 700, "31-netbird": 690}
    noise = [0, 3, -2, 1, -3, 2, -1, 4, -4, 0]
    rows = [
        f"{name},pod2pod,s,c,2M,1230,{mbps + spread},7,1,7,1,tcp,0,0"
        for spread in noise
        for name, mbps in names.items()
    ]
    (tmp_path / "all.csv").write_text("\n".join([KNB_HEADER, *rows]))
    (tmp_path / "mine.toml").write_text(STUDY)
    naming = Naming.parse(["netbird=wireguard/go"], "")
    files, out = [tmp_path / "all.csv"], tmp_path / "run"
    study = str(tmp_path / "mine.toml")
    import_files(ImportRequest(ForeignFormat.KNB, files, out, naming, "", study))
    data = read(out)
    verdicts = {one.id: str(one.verdict) for one in data.claims.judged}
    assert verdicts == {"alike": "supported", "late": "not testable here"}
    assert not data.claims.judged[0].parts[0].paired
    (published,) = data.claims.beside
    assert published.ratio == pytest.approx(2)


def test_a_study_that_is_not_valid_leaves_no_journal(tmp_path: Path) -> None:
    (tmp_path / "all.csv").write_text(
        f"{KNB_HEADER}\n31-netbird,pod2pod,s,c,2M,1230,690,7,1,7,1,tcp,0,0\n"
    )
    (tmp_path / "bad.toml").write_text("name = ")
    files, out = [tmp_path / "all.csv"], tmp_path / "run"
    bad = str(tmp_path / "bad.toml")
    with pytest.raises(StudyError, match=r"bad\.toml, line 1"):
        import_files(ImportRequest(ForeignFormat.KNB, files, out, Naming(), "", bad))
    assert not out.exists()
