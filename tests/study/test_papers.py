"""The five papers as studies: valid, complete, with the papers' own digits, and quick enough."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from culvert.plan.plan import Plan
from culvert.run.outlook.expected import estimate_of
from culvert.study.catalogue import Catalogue, installed_measurements
from culvert.study.shipped import shipped_studies
from culvert.study.study import Study
from culvert.vpns.registry import installed

SEEDS = Path(__file__).parents[2].parent / "shared" / "seeds"
TEXTS = {
    "dekker2020": "000_*.txt",
    "osswald2020": "001_*.txt",
    "kjorveziroski2024": "002_*.txt",
    "mackey2020": "003_*.txt",
    "phanhai": "004_*.txt",
}
STUDIES = sorted(name for name in shipped_studies() if name.partition("-")[0] in TEXTS)
CLAIMS = 60
"""Over all five papers, at least."""
QUICK_S = 20 * 60
PRINTED = re.compile(r"printed as (\d+)")
CONDITIONS = {"Native": "clean", "L": "loss", "D": "delay"}


def paper(name: str) -> str:
    return name.partition("-")[0]


@cache
def toml(name: str) -> dict[str, Any]:
    return tomllib.loads(shipped_studies()[name].read_text())


@cache
def catalogue() -> Catalogue:
    return Catalogue(installed_measurements(), lambda word: str(installed().parse(word)))


@cache
def study(name: str, scale: str = "") -> Study:
    return Study.load(name, catalogue(), scale=scale)


def paper_text(name: str) -> str:
    found = sorted(SEEDS.glob(TEXTS[paper(name)]))
    if not found:
        pytest.skip("the papers' texts are not beside this checkout")
    return found[0].read_text()


def numbers(text: str) -> set[float]:
    return {float(word) for word in re.findall(r"\d+(?:\.\d+)?", text)}


def test_every_paper_is_there() -> None:
    assert {paper(name) for name in STUDIES} == set(TEXTS)


@pytest.mark.parametrize("scale", ["", "quick"])
@pytest.mark.parametrize("name", STUDIES)
def test_it_is_valid(name: str, scale: str) -> None:
    loaded = study(name, scale)
    assert loaded.file.claim
    assert set(loaded.tests) == {claim.id for claim in loaded.file.claim}


@pytest.mark.parametrize("name", STUDIES)
def test_its_quick_edition_is_quick(name: str) -> None:
    quick = study(name, "quick")
    estimate = estimate_of(quick, Plan.of(quick), catalogue())
    assert 0 < estimate.max_s < QUICK_S


def test_there_are_enough_claims_and_each_paper_has_its_share() -> None:
    count = Counter(paper(name) for name in STUDIES for _ in toml(name)["claim"])
    assert count.total() >= CLAIMS
    assert min(count.values()) >= 10


@pytest.mark.parametrize("name", STUDIES)
def test_a_claim_tells_where_in_the_paper_it_stands(name: str) -> None:
    for claim in toml(name)["claim"]:
        place = rf"{paper(name)}, (section|table|appendix) \w"
        assert re.match(place, claim["source"]), claim["id"]


@pytest.mark.parametrize("name", STUDIES)
def test_published_values_are_the_papers_digits(name: str) -> None:
    printed = numbers(paper_text(name))
    for one in toml(name).get("published", []):
        note = one.get("note", "")
        own = PRINTED.search(note)
        value = float(own[1]) if own else float(one["value"])
        assert value in printed, one
        assert one.get("sd", value) in printed, one
        assert numbers(note) <= printed, one


@pytest.mark.parametrize("name", STUDIES)
def test_values_published_with_claims_are_the_papers_digits(name: str) -> None:
    printed = numbers(paper_text(name))
    for claim in toml(name)["claim"]:
        values = claim.get("published", [])
        for one in [values] if isinstance(values, dict) else values:
            assert one["value"] in printed, claim["id"]


def test_dekker2020s_table_3_is_there() -> None:
    """Sizes are of the IP packet, 28 bytes more than the payload of UDP that the table has."""
    rows = re.findall(r"(?m)^.*\t(\d{4})\t(\d{4})$", paper_text("dekker2020-goodput"))
    assert len(rows) == 7
    values = [one for one in toml("dekker2020-goodput")["published"] if one["place"] == "table 3"]
    udp = {one["value"] for one in values if one["metric"] == "packet_size_bytes"}
    tcp = {one["value"] for one in values if one["metric"] == "mss_bytes"}
    assert udp == {int(payload) + 28 for payload, _ in rows}
    assert tcp == {int(payload) for _, payload in rows}


def test_dekker2020s_table_4_is_there() -> None:
    text = paper_text("dekker2020-initiation")
    rows = re.findall(r"(?m)^[\w -]+\((?:Total|Handshake)\)\t([\d.]+)\t([\d.]+)\t([\d.]+)$", text)
    values = toml("dekker2020-initiation")["published"]
    found = [(one["value"], one["note"]) for one in values]
    assert len(rows) == len(found) == 11
    for mean, median, late in rows:
        notes = [note for value, note in found if value == float(median)]
        assert any(note.startswith(f"mean {mean}, 99th percentile {late}") for note in notes)


def test_kjorveziroski2024s_tables_are_there_to_the_last_digit() -> None:
    rows = sorted(_printed_rows(paper_text("kjorveziroski2024")))
    found = sorted(
        (
            one["vpn"],
            one["place"],
            one["condition"],
            one["value"],
            one["sd"],
            "; ".join(one["note"].split("; ")[:2]),
        )
        for one in toml("kjorveziroski2024")["published"]
        if one["place"].startswith("table")
    )
    assert len(rows) == 84
    assert found == rows


def _printed_rows(text: str) -> list[tuple[str, str, str, float, float, str]]:
    rows, vpn, place = [], "", ""
    for line in text.splitlines():
        if line.startswith("TABLE A"):
            place = f"table {line[6:8]}"
        cells = line.split("\t")
        if len(cells) != 7 or not place or cells[1] == "Cond":
            continue
        vpn = cells[0].lower().replace(" ", "/") or vpn
        vpn = "zerotier/tcp-relay" if vpn == "zerotier/relay" else vpn
        word, _, amount = cells[1].partition(": ")
        condition = CONDITIONS[word] + (f"-{amount.rstrip('%').replace(' ', '')}" if amount else "")
        mean, sd, variation, to_1450, to_1230 = cells[2:]
        note = (
            f"coefficient of variation {variation}; "
            f"baseline of MTU 1450 {to_1450}, of MTU 1230 {to_1230}"
        )
        rows.append((vpn, place, condition, float(mean), float(sd), note))
    return rows


@pytest.mark.parametrize("scale", ["quick", "cluster"])
def test_the_scales_of_kjorveziroski2024_have_the_papers_vpns_alone(
    scale: str,
) -> None:
    study = toml("kjorveziroski2024")
    printed = {one["vpn"] for one in study["published"]} | {"none", "none/mtu-1450"}
    assert set(study["scale"][scale]["vpns"]) == printed
    beyond = {"zerotier/relay", "nebula/aes", "nebula/relay", "innernet", "wesher", "netmaker"}
    assert set(study["vpns"]) == printed | beyond
