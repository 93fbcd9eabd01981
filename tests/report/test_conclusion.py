"""The conclusion joins what the columns decided, and adds nothing."""

from __future__ import annotations

import re

import polars as pl

from culvert.report.model import Data
from culvert.report.views.conclusion import ERROR_RATE, Conclusion, conclusion
from culvert.report.views.leaks import leak_matrices

from .conftest import page_of
from .synthetic import make_run
from .truths import VPNS

AGAINST = "Against the same link without a VPN"


def concluded(data: Data) -> list[Conclusion]:
    return conclusion(data, leak_matrices(data))


def test_it_says_of_each_column_whether_its_test_decides() -> None:
    data = make_run(blocks=9, faults=False).data
    (headline, *_) = data.headlines
    said = {part.title: list(part.statements) for part in concluded(data)}
    assert set(said) <= {"Decided", AGAINST, "Not decided yet"}
    here = [
        (question, winner)
        for question in headline.questions
        if question.column.superlative and (winner := headline.winners.get(question.key))
    ]
    assert len(here) >= 3
    for question, winner in here:
        open_still = bool(winner.level_with or winner.undecided)
        title = question.column.superlative.lower()
        found = said["Not decided yet" if open_still else "Decided"]
        (statement,) = (one for one in found if one.lower().startswith(title))
        _, _, names = statement.partition(": ")
        if open_still:
            names, _, advice = names.partition("; ")
            assert re.fullmatch(r"(about|over) \d+ more blocks?( \(.+\))?", advice)
        assert names.startswith((winner.vpn, f"any of the {winner.contenders}"))
        maybe, _, behind = names.partition(", not ")
        for vpn in VPNS:
            first = winner.ranks[vpn].best == 1 if vpn in winner.ranks else False
            if open_still and f" {vpn}" in f" {maybe}":
                assert first
            if open_still and f" {vpn}" in f" {behind}":
                assert not first
    assert ERROR_RATE in str(concluded(data)[0])


def test_it_says_by_how_much_the_first_leads() -> None:
    run = make_run(blocks=9, faults=False)
    (decided, *_) = concluded(run.data)
    said = {line.partition(": ")[0]: line for line in decided.statements}
    assert re.search(r"\), 4\d\s% \[3\d,\s4\d\] more than strongswan", said["highest TCP goodput"])
    assert re.search(r"\), 1\d\s% \[1\d,\s\d\d\] less than openvpn", said["lowest latency"])
    assert re.search(r"\), 6\d\s% \[6\d,\s6\d\] less than strongswan", said["quickest to connect"])
    run.rows = run.rows.with_columns(
        value=pl.when(pl.col("metric") == "goodput_bps", pl.col("vpn") == "wireguard/go")
        .then(5 * pl.col("value"))
        .otherwise(pl.col("value"))
    )
    assert re.search(
        r"\), [67]\.\d+\W \[\S+\s\S+\] as much as strongswan", str(concluded(run.data)[0])
    )


def test_it_says_what_every_vpn_costs_where_all_are_shown_to_differ() -> None:
    run = make_run(blocks=9, faults=False)
    (costs,) = (part for part in concluded(run.data) if part.title == AGAINST)
    said = dict(line.split(": ") for line in costs.statements)
    goodput, cpu = said["TCP goodput"], said["CPU per gigabyte, TCP"]
    assert re.fullmatch(r"\S+\s% to \S+\s% of the bare link's [\d\s]+\sMbit/s", goodput)
    assert re.fullmatch(r"[\d.]+\W to [\d.]+\W the bare link's [\d.]+\ss/GB", cpu)
    assert "; the bare link has " in said["Round trip, median"]
    one = pl.when(pl.col("metric") == "goodput_bps", pl.col("vpn") == "wireguard/go")
    as_the_link = 9.7e9 * (0.6 + pl.col("block") % 2)
    run.rows = run.rows.with_columns(value=one.then(as_the_link).otherwise(pl.col("value")))
    (costs,) = (part for part in concluded(run.data) if part.title == AGAINST)
    assert not any(line.startswith("TCP goodput") for line in costs.statements)


def test_few_blocks_decide_nothing() -> None:
    assert [part.title for part in concluded(make_run(blocks=3).data)] == ["Not decided yet"]


def test_where_nothing_competes_nothing_is_concluded() -> None:
    run = make_run(vpns={"none": VPNS["none"]}, blocks=6)
    assert concluded(run.data) == []
    assert 'class="conclusion"' not in page_of(run)


def test_the_page_begins_with_it_and_ends_with_a_glossary() -> None:
    run = make_run(blocks=9, faults=False)
    page = page_of(run)
    for part in concluded(run.data):
        assert part.title in page
    assert page.index('class="conclusion"') < page.index('class="trust')
    assert page.index('id="method"') < page.index('id="glossary"')
