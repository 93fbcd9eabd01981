"""What a valid study means."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from culvert.errors import NotPossible, StudyError
from culvert.plan.plan import Plan
from culvert.study.shipped import find_study, shipped_studies
from culvert.study.study import Study
from culvert.topology.link.spec import LinkSpec
from culvert.topology.shapes import routed
from culvert.topology.spec import LabSpec
from culvert.vpns import registry
from culvert.vpns.registry import installed_catalogue
from tests.docs.tables import drivers
from tests.study.dummies import CATALOGUE, HEAD, UDP, RttParameters, parse


def parameters(study: Study, condition: str = "clean") -> list[tuple[str, dict[str, object]]]:
    return [(one.kind, json.loads(one.parameters)) for one in study.requested[condition]]


def test_the_least_study_has_defaults() -> None:
    study = parse(HEAD + UDP)
    assert study.vpns == ("none", "wireguard/go")
    assert study.title == study.name == "s"
    assert parameters(study) == [("udp", {"packet_size": "max", "duration": "10s", "rate": None})]
    assert study.lab_spec("clean", [(0,), (1,)]) == LabSpec()
    assert study.file.plan.blocks == 7
    assert study.notes == ()


def test_arrays_are_crossed() -> None:
    study = parse(HEAD + UDP + 'packet_size = [64, "max"]\nduration = ["1s", "2s"]\n')
    assert [(p["packet_size"], p["duration"]) for _, p in parameters(study)] == [
        (64, "1s"),
        (64, "2s"),
        ("max", "1s"),
        ("max", "2s"),
    ]


def test_a_parameter_that_is_an_array_is_not_crossed_unless_nested() -> None:
    rtt = '[[measurement]]\nkind = "rtt"\npercentiles = '
    assert len(parameters(parse(HEAD + rtt + "[50.0, 90.0]\n"))) == 1
    nested = parameters(parse(HEAD + rtt + "[[50.0, 90.0], [99.0]]\n"))
    assert [p["percentiles"] for _, p in nested] == [[50.0, 90.0], [99.0]]


def test_defaults_and_what_is_written_out_are_the_same_cell() -> None:
    short = parse(HEAD + '[[measurement]]\nkind = "rtt"\n')
    long = parse(HEAD + '[[measurement]]\nkind = "rtt"\nrate = "1k/s"\nprobes = 1000\n')
    assert short.requested == long.requested
    assert short.digest == long.digest


def test_canonical_parameters_become_the_measurements_model_again() -> None:
    study = parse(HEAD + '[[measurement]]\nkind = "rtt"\nrate = "2k/s"\n')
    (one,) = study.requested["clean"]
    found = CATALOGUE.parameters("rtt", one.parameters)
    assert isinstance(found, RttParameters)
    assert found.rate_pps == 2000


def test_the_baseline_is_added_and_said() -> None:
    study = parse('name = "s"\nvpns = ["wireguard/go"]\n' + UDP)
    assert study.vpns == ("none", "wireguard/go")
    assert "baseline" in study.notes[0]


def test_conditions_override_the_lab() -> None:
    study = parse(
        HEAD
        + '[lab]\ntopology = "routed"\nlink = { rate = "1Gbit/s", mtu = 9000, offloads = true }\n'
        + '[[condition]]\nname = "fast"\n[[condition]]\nname = "slow"\nrate = "10Mbit/s"\n'
        + "mtu = 1280\noffloads = false\n"
        + UDP
    )
    cores = [(0,), (1,)]
    fast, slow = study.lab_spec("fast", cores), study.lab_spec("slow", cores)
    link = LinkSpec("veth", 10**9, 9000, mtu_requested=True, offloads=True)
    assert fast == LabSpec(routed(), link)
    assert slow == replace(fast, link=replace(link, rate_bps=10**7, mtu=1280, offloads=False))
    assert study.requested["fast"] == study.requested["slow"]


def test_an_mtu_that_is_not_written_is_1500_and_not_requested() -> None:
    link = parse(HEAD + UDP).lab_spec("clean", [(0,)]).link
    assert (link.mtu, link.mtu_requested) == (1500, False)
    written = parse(HEAD + "[lab]\nlink = { mtu = 1500 }\n" + UDP)
    assert written.lab_spec("clean", [(0,)]).link.mtu_requested
    assert written.digest != parse(HEAD + UDP).digest


def test_a_conditions_congestion_control_goes_to_tcp_alone() -> None:
    study = parse(
        HEAD
        + '[[condition]]\nname = "bbr"\ncongestion = "bbr"\n[[condition]]\nname = "plain"\n'
        + '[[measurement]]\nkind = "tcp"\n'
        + UDP
    )
    assert parameters(study, "bbr")[0][1]["congestion_control"] == "bbr"
    assert parameters(study, "plain")[0][1]["congestion_control"] == "cubic"
    assert parameters(study, "bbr")[1] == parameters(study, "plain")[1]


def test_cpus_are_split_given_or_shared() -> None:
    split = parse(HEAD + '[lab]\ncpus = "split"\n' + UDP)
    assert split.lab_spec("clean", [(0,), (1,)]).cpus == {"a": (0,), "b": (1,)}
    given = parse(HEAD + "[lab]\ncpus = { a = [1], b = [0, 1] }\n" + UDP)
    assert given.lab_spec("clean", [(0, 1)]).cpus == {"a": (1,), "b": (0, 1)}
    with pytest.raises(NotPossible, match="CPU 1"):
        given.lab_spec("clean", [(0,)])


def test_claims_are_kept() -> None:
    study = parse(
        HEAD
        + UDP
        + '[[claim]]\nid = "c"\ntext = "t"\nsource = "x, 6.1"\n'
        + 'test = "udp.goodput_bps: wireguard/go < none"\n'
        + 'published = { value = 116, unit = "Mbit/s" }\n'
        + '[[claim]]\nid = "d"\ntext = "t"\n'
        + 'published = [{ value = 1.5, unit = "ms", place = "table 4" }]\n'
    )
    assert [claim.id for claim in study.file.claim] == ["c", "d"]
    assert "116" in study.canonical


@pytest.mark.parametrize(
    "other",
    [
        HEAD.replace('"s"', '"t"') + UDP,
        HEAD + 'title = "x"\n' + UDP,
        HEAD.replace("wireguard/go", "openvpn/aes-256-gcm") + UDP,
        HEAD + "lab = { link = { mtu = 1400 } }\n" + UDP,
        HEAD + UDP + "packet_size = 64\n",
        HEAD + UDP + "[plan]\nseed = 2\n",
        HEAD + UDP + "[plan]\nblocks = { max = 5 }\n",
        HEAD + UDP + '[[claim]]\nid = "c"\ntext = "t"\n',
    ],
)
def test_the_digest_tells_studies_apart(other: str) -> None:
    assert parse(other).digest != parse(HEAD + UDP).digest


def test_the_digest_does_not_depend_on_how_it_is_written() -> None:
    study = parse(HEAD + UDP + 'duration = "2000ms"\n[plan]\nseed = 1\n')
    same = parse("# c\nplan = { seed = 1 }\n" + HEAD + '[[measurement]]\nduration="2s"\nkind="udp"')
    assert study.digest == same.digest


def test_quick_is_shipped_and_is_what_it_says() -> None:
    study = Study.load("quick", installed_catalogue())
    assert len(study.vpns) == 4
    assert [one.kind for one in study.requested["clean"]] == [
        "tcp",
        "udp",
        "udp",
        "rtt",
        "initiation",
    ]
    plan = Plan.of(study)
    assert (plan.min_blocks, plan.stop, plan.budget_s) == (6, "together", 280.0)


def test_the_landscape_has_every_vpn_that_encrypts() -> None:
    encrypting = {
        driver.name
        for driver in drivers().values()
        if any(variant.encrypts for variant in driver.variants)
    }
    study = Study.load("landscape", installed_catalogue())
    assert not encrypting - {registry.parse(each).name for each in study.vpns}


def test_every_shipped_study_is_named_after_its_file() -> None:
    shipped, catalogue = shipped_studies(), installed_catalogue()
    assert "quick" in shipped
    for name, path in shipped.items():
        assert Study.load(path, catalogue).name == name


def test_a_file_goes_before_a_shipped_study(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "quick").write_text(HEAD + UDP)
    assert find_study("quick") == Path("quick")
    assert Study.load("quick", CATALOGUE).name == "s"


@pytest.mark.parametrize(
    ("where", "why", "remedy"),
    [
        ("quik", "no such file or shipped study", '"quick"'),
        ("missing.toml", "does not exist", "check the path"),
        ("some/where", "does not exist", "check the path"),
        (".", "directory", "TOML file"),
    ],
)
def test_a_study_that_is_not_there(where: str, why: str, remedy: str) -> None:
    with pytest.raises(StudyError, match=why) as caught:
        Study.load(where, CATALOGUE)
    assert remedy in caught.value.remedy


def test_a_study_that_is_not_text(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_bytes(b'name = "\xff"')
    with pytest.raises(StudyError, match="not UTF-8"):
        Study.load(path, CATALOGUE)
