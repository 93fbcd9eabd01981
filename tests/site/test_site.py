from __future__ import annotations

import json
import os
import re
from pathlib import Path
from xml.etree import ElementTree

from culvert.bundle.verify import verify
from culvert.files.names import slug
from culvert.report.model import read
from culvert.report.views.headline import headline_views
from culvert.site.badge import badge
from culvert.site.build import build
from tests.cli import Cli
from tests.compare.runs import write_run

from .conftest import GO, Sites

PAGES = ("index.html", "study/made.html", "vpn/wireguard.html", "vpn/openvpn.html")


def test_each_run_and_verified_bundle_has_a_report_and_a_changed_one_is_named(
    sites: Sites,
) -> None:
    assert sites.built.runs == 3
    assert len(list(sites.out.glob("run/*/index.html"))) == 3
    (refused,) = sites.built.refused
    assert refused.what.name == "changed.zip"
    assert "changed.zip" in (sites.out / "index.html").read_text()
    told = (sites.out / "culvert.json").read_text()
    assert str(sites.runs.parent) not in told
    assert "culvert-site-" not in told


def test_the_page_of_a_run_keeps_its_name_when_others_come_and_go(
    sites: Sites, tmp_path: Path
) -> None:
    build([sites.runs / "run-2"], tmp_path / "one")
    (page,) = (tmp_path / "one").glob("run/*/index.html")
    same = sites.out / page.relative_to(tmp_path / "one")
    assert same.read_text() == page.read_text()


def test_every_link_leads_to_a_file(sites: Sites) -> None:
    links = 0
    for page in sites.out.rglob("*.html"):
        text = re.sub(r"<script.*?</script>", "", page.read_text(), flags=re.S)
        for link in re.findall(r'(?:href|src)="([^"#:]+)"', text):
            assert (page.parent / link).resolve().is_file(), (page, link)
            links += 1
    assert links > 50
    assert all((sites.out / page).is_file() for page in PAGES)


def test_figures_and_sentences_are_those_of_the_report(sites: Sites) -> None:
    told = json.loads((sites.out / "culvert.json").read_text())
    newest = told["runs"][0]
    data = read(sites.runs / "run-2")
    (view,) = headline_views(data)
    lines = {line["vpn"]: line for line in newest["lines"]}
    for row in view.rows:
        figures = lines[row.vpn]["figures"]
        shown = [(one["below"], one["badge"]) for one in figures]
        assert shown == [(str(one.below), one.badge) for one in row.cells if one]
    sentence = lines[GO]["verdict"]
    assert sentence in [text.replace("\u00a0", " ") for _, text in view.verdicts]
    page = (sites.out / "vpn" / "wireguard.html").read_text()
    assert lines[GO]["figures"][0]["absolute"] in page
    assert [one["vpn"] for one in told["series"]] == ["none", "openvpn/aes-256-gcm", GO]


def test_a_newer_run_without_figures_or_without_a_vpn_leaves_no_empty_part(
    tmp_path: Path,
) -> None:
    def page(name: str) -> str:
        build([tmp_path / "runs"], tmp_path / "out")
        return (tmp_path / "out" / name).read_text()

    write_run(tmp_path / "runs" / os.fsdecode(b"\xff"), {"none": [9e8] * 6, GO: [5e8] * 6})
    (tmp_path / "runs" / os.fsdecode(b"\xff.zip")).touch()
    write_run(tmp_path / "runs" / "b", {"none": []})
    assert "500 Mbit/s" in page("index.html")
    assert "<h2>Badges</h2>" in page("vpn/wireguard.html")
    write_run(tmp_path / "runs" / "c", {"none": [9e8] * 6})
    found = page("vpn/wireguard.html")
    assert "The newest run of its studies does not have it." in found
    assert not {"<h2>In words</h2>", "<h2>Badges</h2>"} & set(re.findall("<h2>.*?</h2>", found))


def test_one_machine_is_named_once(sites: Sites) -> None:
    landscape = (sites.out / "index.html").read_text()
    assert (
        landscape.count(json.loads((sites.out / "culvert.json").read_text())["runs"][0]["machine"])
        == 1
    )
    assert ">machine<" not in landscape


def test_a_vpn_page_has_its_versions_features_and_badges(sites: Sites) -> None:
    page = (sites.out / "vpn" / "wireguard.html").read_text()
    assert all(f">{version}<" in page for version in ("1.0", "1.1", "1.2"))
    assert "open-source" in page
    names = re.findall(r"<code>badge/([^<]+)</code>", page)
    assert any(slug(GO) in name for name in names)
    for name in names:
        ElementTree.parse(sites.out / "badge" / name)


def test_a_badge_says_what_it_shows_and_escapes_it() -> None:
    text = badge('a "<b>"', "3 Mbit/s", "best")
    assert ElementTree.fromstring(text).attrib["aria-label"] == 'a "<b>": 3 Mbit/s, best'


def test_the_command_and_its_exit_codes(say: Cli, sites: Sites, tmp_path: Path) -> None:
    ended = say("site", sites.runs, "--out", tmp_path / "out", "--json")
    assert ended.code == 1
    assert "changed.zip" in ended.err
    assert json.loads(ended.out)["runs"] == 3
    (tmp_path / "empty").mkdir()
    say("site", tmp_path / "empty", "--out", tmp_path / "none").refused(2, "no journal")
    say("site", sites.runs, "--out", sites.runs).refused(2, "it contains the runs themselves")
    (tmp_path / "file").touch()
    say("site", sites.runs, "--out", tmp_path / "file").refused(2, "Not a directory")
    unpacked = tmp_path / "unpacked"
    verify(sites.runs.parent / "good.zip", unpacked)
    for number in range(9):
        (unpacked / f"{number}.txt").touch()
    say("site", unpacked, "--out", tmp_path / "x").refused(2, "was added and 6 more")
    say("site", sites.runs / "changed.zip", "--out", tmp_path / "x").refused(2, "changed")
