"""What the page says of the machine, the underlay and the VPNs, and where it stops listing."""

from __future__ import annotations

import json
from collections.abc import Mapping

import polars as pl
import pytest

from culvert.journal.marks import FILLED_SHARE
from culvert.plan.stopping import StopReason
from culvert.report.charts.cpu_modes import PARTS
from culvert.report.charts.latency import _ticks
from culvert.report.numbers import Scale
from culvert.report.views import trials as trial_views
from culvert.report.views.trials import trial_list
from culvert.report.views.trust import OWN_DAY, limits, trust
from culvert.report.views.underlay import underlay_views, vpn_views

from .conftest import page_of
from .page_reader import Page
from .recorded import RUN
from .synthetic import Run, make_run
from .truths import TCP, VPNS


def small(blocks: int = 2, **environment: object) -> Run:
    run = dict(RUN) | {"environment": RUN["environment"] | environment}
    return make_run(blocks=blocks, measurements=(("tcp", TCP),), faults=False, run=run)


def test_limits_name_cpus_guest_load_governor_and_blocks() -> None:
    told = "; ".join(limits(small().data))
    assert "2 CPUs are shared by both nodes" in told
    assert "guest of a hypervisor (kvm)" in told
    assert "load average 2.9 at the start" in told
    assert "CPU governor performance, boost on" in told
    assert "only 2 blocks" in told


def test_a_good_machine_has_no_limits() -> None:
    environment = {
        "cpu": {"threads": 64, "frequency": {"governors": ["performance"], "boost": False}},
        "virtualisation": {"guest": False},
        "load": {"average_1min": 0.4},
    }
    assert limits(small(blocks=12, **environment).data) == ()


@pytest.mark.parametrize(
    ("share", "told"), [(0.42, True), (0.95, False), ("none", False), (-1, False)]
)
def test_a_baseline_that_does_not_fill_the_links_is_a_limit(share: object, *, told: bool) -> None:
    run = small()
    check = {"name": "figures are possible", "figures": {FILLED_SHARE: share}}
    run.trials = run.trials.with_columns(evidence=pl.lit(json.dumps({"checks": [check]})))
    found = [limit for limit in limits(run.data) if "limit even the baseline" in limit]
    assert bool(found) is told
    assert not told or "(42" in found[0]


def test_an_unknown_machine_is_a_limit() -> None:
    run = small()
    run.run["environment"] = {}
    assert limits(run.data) == ("no facts about the machine are recorded",)


def test_between_pods_the_traffic_was_seen_on_the_nodes_interfaces() -> None:
    run = small()
    assert trust(run.data).title == "All traffic proved in the tunnel"
    run.run["lab"] = "kubernetes"
    title = trust(run.data).title
    assert title == "All traffic proved on the interfaces of the cluster's nodes"


def test_the_badge_counts_the_packets_that_were_searched() -> None:
    run = small()
    count = run.data.counts.ok
    assert f"clear text in 0 of {2811 * count:,} packets searched" in trust(run.data).detail


def imported(days: Mapping[str, str]) -> Run:
    """An import whose VPNs were measured on these days."""
    run = small(blocks=6)
    run.run["lab"] = "imported"
    run.trials = run.trials.with_columns(
        started_at=pl.col("vpn").replace_strict(days, default="2026-01-01") + "T10:00:00+00:00"
    )
    return run


def test_configurations_on_days_of_their_own_are_badged() -> None:
    apart = imported({name: f"2026-11-{day:02d}" for day, name in enumerate(VPNS, start=1)})
    assert OWN_DAY in trust(apart.data).detail
    together = imported(dict.fromkeys(VPNS, "2026-11-20"))
    assert OWN_DAY not in trust(together.data).detail
    unknown = imported(dict.fromkeys(VPNS, "1970-01-01"))
    unknown.trials = unknown.trials.with_columns(started_at=pl.lit("1970-01-01T00:00:00+00:00"))
    assert OWN_DAY not in trust(unknown.data).detail


def test_imported_runs_are_never_paired() -> None:
    data = imported(dict.fromkeys(VPNS, "2026-11-20")).data
    assert not data.comparisons["paired"].any()
    assert "not paired" in "; ".join(limits(data))
    assert "Nothing is paired" in Page(page_of(imported({}))).text


def test_a_run_that_its_rule_ended_early_says_what_that_does_to_estimates() -> None:
    run = small(blocks=8)
    blocks = {"until": "claims decided", "min": 7, "max": 12}
    run.run |= {"canonical": json.dumps({"plan": {"blocks": blocks}})}
    run.run |= {"ended_why": str(StopReason.CLAIMS)}
    told = "; ".join(limits(run.data))
    assert "its rule ended the run after 8 blocks of at most 12: differences that" in told
    run.run |= {"ended_why": str(StopReason.BLOCKS)}
    assert "its rule ended" not in "; ".join(limits(run.data))


@pytest.mark.parametrize(
    ("blocks", "limit"),
    [
        (4, "only 4 blocks: a difference takes 5 and the interval of a median takes 6"),
        (5, "only 5 blocks: the interval of a median takes 6"),
        (9, "only 9 blocks: intervals are wide"),
    ],
)
def test_few_blocks_limit_what_can_be_shown(blocks: int, limit: str) -> None:
    data = small(blocks=blocks).data
    assert limit in limits(data)
    assert data.columns.design.fewest == 5


def test_the_page_and_the_limits_name_the_same_number_of_trials() -> None:
    run = small(blocks=5)
    rule = {"until": "claims decided", "min": 5, "max": 30}
    run.run |= {"canonical": json.dumps({"plan": {"blocks": rule}})}
    fewest = run.data.columns.design.looks.fewest()
    assert fewest > 6
    assert any(f"the interval of a median takes {fewest}" in limit for limit in limits(run.data))
    assert f"which take {fewest} trials" in Page(page_of(run)).text


def test_stolen_time_is_told() -> None:
    run = small()
    stolen = run.rows.filter(pl.col("metric") == "cpu_percent").with_columns(
        metric=pl.lit("cpu_steal_percent"), value=pl.lit(7.5)
    )
    run.rows = pl.concat([run.rows, stolen])
    assert any("took away 7.5 % of a core" in limit for limit in limits(run.data))


def test_an_underlay_that_stays_the_same_is_one_table() -> None:
    (view,) = underlay_views(small().data)
    assert view.steady
    assert view.trials == 2 * len(VPNS)
    rows = {row[0]: row[1:] for row in view.table.rows}
    assert rows["CPUs of its processes"] == ("0", "1")
    assert rows["MTU, bytes"] == ("1500", "1500")
    assert rows["offloads that make super-packets"] == ("none", "none")
    assert rows["net.ipv4.tcp_congestion_control"] == ("bbr", "bbr")
    assert rows["net.ipv4.tcp_none"] == ("\u2013", "\u2013")


def test_an_underlay_that_changes_says_so() -> None:
    run = small()
    first = pl.col("trial") == 1
    run.trials = run.trials.with_columns(
        evidence=pl.when(first)
        .then(pl.col("evidence").str.replace('"mtu": 1500', '"mtu": 1400'))
        .otherwise(pl.col("evidence"))
    )
    (view,) = underlay_views(run.data)
    assert not view.steady
    rows = {row[0]: row[1:] for row in view.table.rows}
    assert rows["MTU, bytes"] == ("differs: 1500 in 7 trials; 1400 in 1 trials", "1500")
    assert "Not the same in all 8 trials" in Page(page_of(run)).text


def test_paths_between_hosts_are_shown_with_their_changes() -> None:
    run = small()
    first = pl.col("trial") == 1
    way = '"paths": {"b": {"gateway": "none", "ttl": "64"}}, "underlay": {"device"'
    plain = pl.col("evidence").str.replace('"underlay": {"device"', way, literal=True)
    run.trials = run.trials.with_columns(
        evidence=pl.when(first)
        .then(plain.str.replace('"ttl": "64"', '"ttl": "61"'))
        .otherwise(plain)
    )
    (view,) = underlay_views(run.data)
    rows = {row[0]: row[1] for row in view.table.rows}
    assert not view.steady
    shown = ("gateway = none, ttl = 64 in 7 trials", "gateway = none, ttl = 61 in 1 trials")
    assert rows["path to b"] == f"differs: {'; '.join(shown)}"


def test_conditions_with_other_underlays_have_tables_of_their_own() -> None:
    run = make_run(
        blocks=1, conditions=("a", "b"), measurements=(("tcp", TCP),), faults=False, run=RUN
    )
    assert [view.title for view in underlay_views(run.data)] == ["in every condition"]
    run.trials = run.trials.with_columns(
        evidence=pl.when(pl.col("condition") == "b")
        .then(pl.col("evidence").str.replace_all("noqueue", "tbf"))
        .otherwise(pl.col("evidence"))
    )
    views = underlay_views(run.data)
    assert sorted(view.title for view in views) == ["condition a", "condition b"]
    assert all(view.steady for view in views)


def test_vpns_are_shown_with_whole_versions_and_facts() -> None:
    found = {view.name: view for view in vpn_views(small().data)}
    assert "none" not in found
    assert found["openvpn/aes-256-gcm"].versions == ("2.6.14",)
    assert ("made for", "openvpn/aes-256-gcm") in found["openvpn/aes-256-gcm"].facts
    text = Page(page_of(small())).text
    assert "AES-256-GCM" in text


def test_any_evidence_will_do() -> None:
    run = small(blocks=1)
    run.trials = run.trials.with_columns(evidence=pl.lit('{"underlay": 3, "vpn": []}'))
    data = run.data
    assert underlay_views(data) == []
    assert all(view.facts == () for view in vpn_views(data))


def test_facts_of_underlay_and_vpn_are_no_checks() -> None:
    (trial, *_) = trial_list(small().data).trials
    names = [check.name for check in trial.checks]
    assert len(names) == 3
    assert not {"underlay", "vpn", "proved"} & set(names)


def test_the_page_says_where_it_stops_listing(monkeypatch: pytest.MonkeyPatch) -> None:
    data = small().data
    assert trial_list(data).left_out == ""
    monkeypatch.setattr(trial_views, "MOST_TRIALS", 5)
    monkeypatch.setattr(trial_views, "MOST_EVIDENCE", 3)
    listed = trial_list(data)
    assert len(listed.trials) == 5
    assert "Of 8 trials 5 are listed" in listed.left_out
    assert "2 later trials that count are listed without their evidence" in listed.left_out
    assert [bool(trial.checks) for trial in listed.trials] == [True] * 3 + [False] * 2
    assert "Of 8 trials 5 are listed" in Page(page_of(small())).text


def test_trials_that_do_not_count_are_the_last_to_be_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = small()
    last = run.trials["trial"].max()
    run.trials = run.trials.with_columns(
        status=pl.when(pl.col("trial") == last).then(pl.lit("failed")).otherwise(pl.col("status"))
    )
    monkeypatch.setattr(trial_views, "MOST_TRIALS", 2)
    assert [trial.number for trial in trial_list(run.data).trials] == [1, last]


def test_cpu_parts_and_what_the_total_holds_beside_them_add_up() -> None:
    run = small()
    data = run.data
    page = Page(page_of(run))
    (name,) = [name for name in page.charts if name.startswith("goodput") and name.endswith("-1")]
    bars, rings, sums, _ = page.charts[name]["layer"]
    for vpn in VPNS:
        parts = [bar["value"] for bar in bars["data"]["values"] if bar["vpn"] == vpn]
        (total,) = data.summary.filter(
            pl.col("vpn") == vpn, pl.col("metric") == "cpu_percent", pl.col("labels") == "{}"
        )["mean"]
        assert sum(parts) == pytest.approx(total, abs=1.0)
        assert len(parts) == len(PARTS)
    assert len(rings["data"]["values"]) == 2 * len(VPNS)
    assert {mark["vpn"] for mark in sums["data"]["values"]} == set(VPNS)


def test_captions_say_what_a_flood_is_and_whose_cpu_it_is() -> None:
    text = Page(page_of(make_run(blocks=1, faults=False))).text
    assert text.count("goodput under such a flood is a floor") == 2
    assert text.count("Both nodes share one kernel") == 3
    paced = {"duration": "2s", "packet_size": 64, "rate": "10Mbit/s"}
    run = make_run(blocks=1, faults=False, measurements=(("udp", paced),))
    run.run["lab"] = "hosts"
    text = Page(page_of(run)).text
    assert "is a floor" not in text
    assert "share one kernel" not in text


def test_the_latency_axis_has_round_ticks_within_its_range() -> None:
    micro = Scale(1e3, "µs")
    assert _ticks(80, 900, micro) == pytest.approx([100, 200, 500])
    assert _ticks(80, 90_000, micro) == pytest.approx([100, 1000, 10_000])
    assert json.dumps(_ticks(1e-3, 1.0, micro))


def test_a_measurement_without_charts_of_its_own_is_shown_all_the_same() -> None:
    run = small()
    run.rows = run.rows.with_columns(
        measurement=pl.lit("third_party"),
        metric=pl.when(pl.col("metric") == "goodput_bps")
        .then(pl.lit("wonder_ms"))
        .otherwise(pl.col("metric")),
        unit=pl.when(pl.col("metric") == "goodput_bps")
        .then(pl.lit("ms"))
        .otherwise(pl.col("unit")),
    )
    run.trials = run.trials.with_columns(measurement=pl.lit("third_party"))
    page = Page(page_of(run))
    (name,) = page.charts
    assert page.charts[name]["title"] == "wonder"
    assert "third party" in page.text
    assert "see the figures below" in page.text
    assert "no trial that counts" not in page.text
    assert "tcp rtt p50" in page.text
    assert "core" not in page.charts[name]["title"]


def test_the_bare_links_ceiling_stands_beside_goodput() -> None:
    run = small()
    assert "ceiling" not in Page(page_of(run)).text
    ceiling = run.rows.filter(pl.col("metric") == "goodput_bps").with_columns(
        metric=pl.lit("ceiling_goodput_bps"), value=pl.lit(12.5e9)
    )
    run.rows = pl.concat([run.rows, ceiling])
    text = Page(page_of(run)).text
    assert "ceiling of the bare link, Mbit/s" in text
    assert "12 500" in text.replace("\u202f", " ")
