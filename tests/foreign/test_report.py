"""What the report makes of an import: no proof that nobody made, no winner that is no VPN."""

from __future__ import annotations

import pytest

from culvert.foreign.command import ImportRequest, import_files
from culvert.foreign.formats import ForeignFormat
from culvert.foreign.naming import Naming
from culvert.journal.journal import Journal
from culvert.report.headline_view import headline_views
from culvert.report.model import Data, gather
from culvert.report.run_info import RunInfo
from culvert.report.trial_views import trial_list
from culvert.report.trust import limits, trust
from culvert.report.view import facts

from .samples import KNB_HEADER

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
    with Journal.open(out) as journal:
        return gather(
            RunInfo.from_journal(journal.run()),
            journal.rows(),
            journal.trials(),
            journal.histograms(),
            journal.series(),
        )


def test_it_says_that_it_was_imported(data: Data) -> None:
    told = trust(data)
    assert (told.level, told.title) == ("mixed", "Imported: not proved by Culvert")
    said = "; ".join(limits(data))
    assert 'the baseline "none" is native-mtu1230' in said
    assert "without a VPN as well: none/native-mtu1450" in said
    assert "places of the files that could not be read: 1" in said
    names = [name for name, _ in facts(data)]
    assert "Imported" in names
    assert not {"Measured", "Took", "Governor"} & set(names)


def test_no_trial_shows_checks_that_nobody_made(data: Data) -> None:
    listed = trial_list(data).trials
    assert len(listed) == 48
    assert all(trial.checks == () for trial in listed)


def test_a_link_without_a_vpn_is_never_the_best_vpn(data: Data) -> None:
    (headline,) = data.headlines
    assert headline.vpns[0] == "none"
    assert {winner.vpn for winner in headline.winners.values()} == {"netbird"}
    assert {winner.contenders for winner in headline.winners.values()} == {2}


def test_udp_without_a_size_is_not_called_small(data: Data) -> None:
    (view,) = headline_views(data)
    assert [title for title, _ in view.columns] == ["TCP goodput", "UDP goodput"]
    assert [card.title for card in view.winners] == ["Highest TCP goodput", "Highest UDP goodput"]
