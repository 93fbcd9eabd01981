from __future__ import annotations

import base64
import hashlib
import json
import re
from pathlib import Path

import pytest

from culvert.report.html.page import reproduce
from culvert.report.run_info import RunInfo
from culvert.units import plural

from .conftest import page_of
from .page_reader import Page
from .synthetic import NASTY, make_run
from .truths import VPNS, Truth

LOADS = {
    "src",
    "srcset",
    "data",
    "poster",
    "background",
    "action",
    "formaction",
    "ping",
    "xlink:href",
}


@pytest.fixture(scope="session", params=["plain", "nasty"])
def page(request: pytest.FixtureRequest) -> Page:
    return Page(request.getfixturevalue(request.param)[1])


def test_nothing_is_loaded(page: Page) -> None:
    for tag, attributes in page.elements:
        assert tag not in {"link", "iframe", "object", "embed", "base", "img", "audio", "video"}
        assert not LOADS & set(attributes), (tag, attributes)
        assert attributes.get("href", "#").startswith("#"), (tag, attributes)
        assert "url(" not in attributes.get("style", "")
    for style in page.styles:
        assert not re.search(r"@import|url\(|https?:|//\w", style)
    own = [text for _, text in page.scripts if "culvert-theme" in text]
    assert len(own) == 1
    assert not re.search(r"\bfetch\b|XMLHttpRequest|import\s*\(|https?:|//\w|WebSocket", own[0])


def test_no_chart_names_an_address(page: Page) -> None:
    def visit(value: object, key: str = "") -> None:
        if isinstance(value, dict):
            assert not {"url", "href", "$schema"} & set(value)
            for name, below in value.items():
                visit(below, name)
        elif isinstance(value, list):
            for below in value:
                visit(below, key)

    visit(page.charts)


def test_the_policy_forbids_loads_and_allows_exactly_our_scripts(page: Page) -> None:
    (policy,) = (
        attributes["content"]
        for tag, attributes in page.elements
        if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy.startswith("default-src 'none'; ")
    assert "http" not in policy
    scripts = re.search(r"script-src ([^;]*)", policy)
    assert scripts is not None
    allowed = set(scripts[1].split())
    running = [text for attributes, text in page.scripts if "type" not in attributes]
    hashes = {
        f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
        for text in running
    }
    assert allowed == hashes
    assert len(running) == 2


def test_the_commands_that_repeat_a_run_name_its_scale_and_lab() -> None:
    install, run, report = reproduce(make_run(blocks=2).data).split("\n")
    assert install == "sudo culvert install --study study.toml"
    assert run == "culvert run study.toml --out again"
    assert report == "culvert report again"
    small = {"canonical": '{"scale":"smoke"}', "lab": "hosts"}
    _, run, _ = reproduce(make_run(blocks=2, run=small).data).split("\n")
    assert run == "culvert run study.toml --out again --scale smoke --lab hosts"
    alone = reproduce(make_run(vpns={"none": VPNS["none"]}, blocks=2).data)
    assert "culvert install" not in alone


def test_hostile_text_is_text(nasty: tuple[Path, str]) -> None:
    page = Page(nasty[1])
    visible = NASTY.replace("\u2028", "\ufffd")
    # Title, study, lab, reason, remedy, versions, environment: all shown, none interpreted.
    assert page.text.count(visible) > 20
    assert nasty[1].count("<script") == 3
    assert len(page.scripts) == 3
    for tag, attributes in page.elements:
        assert not [name for name in attributes if name.startswith("on")], (tag, attributes)


def test_ids_are_unique_and_every_chart_has_its_place(page: Page) -> None:
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert set(page.charts) <= set(ids)
    places = [a["id"] for t, a in page.elements if t == "div" and a.get("class") == "chart"]
    assert sorted(places) == sorted(page.charts)


def test_everything_has_words(page: Page) -> None:
    tags = [tag for tag, _ in page.elements]
    assert tags.count("figure") == tags.count("figcaption") > 5
    pictures = [a for _, a in page.elements if a.get("role") == "img"]
    assert len(pictures) == tags.count("figure")
    assert all(len(attributes["aria-label"]) > 20 for attributes in pictures)
    assert tags.count("h1") == 1


def test_invalid_trials_give_no_number() -> None:
    truth = VPNS["openvpn/aes-256-gcm"]
    broken = dict.fromkeys(
        ("tcp", "udp", "rtt", "initiation"),
        ("invalid", "the canary was readable", "look at the routes"),
    )
    vpns = {
        "none": VPNS["none"],
        "vxlan/plain": Truth(
            **{**truth.__dict__, "broken": broken},
        ),
    }
    text = page_of(make_run(vpns=vpns, faults=False))
    page = Page(text)
    for spec in page.charts.values():
        for layer in spec["layer"]:
            for record in layer["data"]["values"]:
                if record["vpn"] == "vxlan/plain":
                    assert record == {"vpn": "vxlan/plain", "text": "no trial that counts"}
    assert "no number" in page.text
    assert "vxlan/plain: no trial that counts." in page.text
    assert "the canary was readable" in page.text
    assert "25 of 50 trials do not count" in page.text


def test_the_badge_tells_the_truth(plain: tuple[Path, str]) -> None:
    assert "98 trials that count have a proof" in Page(plain[1]).text
    run = make_run(blocks=1, faults=False)
    text = Page(page_of(run)).text
    assert "All traffic proved in the tunnel" in text
    run.trials = run.trials.with_columns(
        evidence=run.trials["evidence"].str.replace("true", "false")
    )
    text = Page(page_of(run)).text
    assert "Not every number is proved" in text
    assert "All traffic proved" not in text


def test_every_trial_is_listed_with_reason_and_remedy(plain: tuple[Path, str]) -> None:
    page = Page(plain[1])
    rows = [a for tag, a in page.elements if tag == "tr" and "data-status" in a]
    assert len(rows) == 100
    assert "212 packets went around the tunnel" in page.text
    assert "something is more specific than the tunnel's" in page.text
    assert "2 of 3 checks passed" in page.text


def test_an_empty_journal_is_a_page_that_says_so() -> None:
    page = Page(page_of(make_run(blocks=0)))
    assert "No trials yet" in page.text
    assert page.charts == {}


@pytest.mark.parametrize("blocks", [1, 2])
def test_few_blocks_have_no_intervals(blocks: int) -> None:
    page = Page(page_of(make_run(blocks=blocks, faults=False)))
    assert "no interval, " in page.text
    assert f"{plural(blocks, 'block')} {'is' if blocks == 1 else 'are'} too few" in page.text


def test_only_the_baseline() -> None:
    page = Page(page_of(make_run(vpns={"none": VPNS["none"]}, faults=False)))
    assert "the baseline" in page.text
    assert "All traffic proved on the link" in page.text
    assert "Highest TCP goodput" not in page.text


def test_without_a_baseline_nothing_is_compared() -> None:
    vpns = {name: truth for name, truth in VPNS.items() if name != "none"}
    page = Page(page_of(make_run(vpns=vpns, faults=False)))
    assert "no baseline to compare with" in page.text


def test_warm_up_blocks_are_listed_but_do_not_count() -> None:
    run = make_run(blocks=5, warmups=1, faults=False)
    run.rows = run.rows.filter(run.rows["block"] > 0)
    page = Page(page_of(run))
    assert "100 in 5 blocks" in page.text
    assert len([a for tag, a in page.elements if tag == "tr" and "data-status" in a]) == 120


def test_each_condition_has_its_own_headline_and_figures() -> None:
    page = Page(page_of(make_run(conditions=("clean", "lossy"), faults=False)))
    assert "Headline: clean" in page.text
    assert "Headline: lossy" in page.text
    assert len([name for name in page.charts if "lossy" in name]) == len(page.charts) / 2


def test_conditions_stand_in_the_study_s_order() -> None:
    canonical = json.dumps({"condition": [{"name": "lossy"}, {"name": "clean"}]})
    run = make_run(conditions=("clean", "lossy"), blocks=1, run={"canonical": canonical})
    text = Page(page_of(run)).text
    assert text.index("Headline: lossy") < text.index("Headline: clean")


def test_how_the_trials_were_made_is_that_of_the_run() -> None:
    def text(**run: str) -> str:
        return Page(page_of(make_run(blocks=1, run=run))).text

    listed = text(canonical='{"plan":{"order":"listed"}}')
    assert "the baseline included, in the listed order" in listed
    assert "random order" not in listed
    assert "the baseline included, in random order" in text()
    assert "computed from two independent series" in text(lab="imported")


def test_what_was_never_tried_takes_one_line() -> None:
    lacking = ("unsupported", "this Culvert has no VPN mesh/relay", "a newer Culvert may have it")
    broken = dict.fromkeys(("tcp", "udp", "rtt", "initiation"), lacking)
    mesh = Truth(**{**VPNS["wireguard/go"].__dict__, "broken": broken})
    text = Page(page_of(make_run(vpns={**VPNS, "mesh/relay": mesh}, blocks=1, faults=False))).text
    assert "Not possible here: mesh/relay. The list of trials gives the reasons." in text
    assert "mesh/relay: no trial that counts." not in text
    assert "this Culvert has no VPN mesh/relay" in text


def test_a_run_of_which_little_is_known() -> None:
    info = RunInfo.from_journal({"study": "s", "ended_at": None, "started_at": "2026-01-01T00:00Z"})
    assert info.duration_s is None
    assert info.installs == ()
    assert RunInfo.from_journal({}).study == "unnamed study"
