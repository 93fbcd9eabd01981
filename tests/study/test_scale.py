"""Smaller editions, what is lacking, what is left out, what others published."""

from __future__ import annotations

import json

import pytest

from culvert.errors import StudyError
from culvert.plan.plan import Plan, cells_of
from culvert.study.claims.test import VpnSide, Where
from culvert.study.study import Study
from tests.study.dummies import CATALOGUE, HEAD, UDP, parse

TWO = """\
name = "s"
vpns = ["none", "wireguard/go", "openvpn/aes-256-gcm"]
[[condition]]
name = "x"
[[condition]]
name = "y"
[[measurement]]
kind = "udp"
packet_size = [64, 512]
duration = "60s"
[[measurement]]
kind = "tcp"
duration = ["10s", "60s"]
[[measurement]]
kind = "rtt"
[plan]
blocks = 100
pause = "5s"
[[claim]]
id = "c"
text = "t"
test = "udp.goodput_bps[duration=60s, packet_size=64]: wireguard/go > none"
"""
QUICK = '[scale.quick]\nblocks = 3\npause = "0s"\nduration = "1s"\n'


def quick_of(more: str = "") -> Study:
    """The quick edition of the study, with more in its table."""
    return parse(TWO + QUICK + more, scale="quick")


def refused(text: str, what: str, why: str, remedy: str = "", *, scale: str = "") -> None:
    """The text is no study, for this reason."""
    with pytest.raises(StudyError) as caught:
        parse(text, scale=scale)
    assert what in caught.value.what
    assert why in caught.value.why
    assert remedy in caught.value.remedy


def asked(study: Study, condition: str = "x") -> list[tuple[str, object]]:
    return [
        (one.kind, json.loads(one.parameters).get("duration")) for one in study.requested[condition]
    ]


def test_a_scale_makes_a_study_smaller() -> None:
    more = 'vpns = ["wireguard/go"]\nconditions = ["y"]\nrtt = { probes = 10 }\n'
    whole, quick = parse(TWO + QUICK + more), quick_of(more)
    assert quick.vpns == ("none", "wireguard/go")
    assert list(quick.requested) == ["y"]
    assert asked(quick, "y") == [("udp", "1s"), ("udp", "1s"), ("tcp", "1s"), ("rtt", None)]
    assert json.loads(quick.requested["y"][-1].parameters)["probes"] == 10
    assert (Plan.of(quick).max_blocks, Plan.of(quick).pause_s) == (3, 0.0)
    assert asked(whole)[:3] == [("udp", "60s"), ("udp", "60s"), ("tcp", "10s")]
    assert whole.digest == parse(TWO).digest != quick.digest
    assert len(cells_of(quick)) == 2 * 4


LINK = '[lab]\nlink = { kind = "wire", rate = "1Gbit/s" }\n'


def test_a_scale_may_have_a_slower_link() -> None:
    scale = '[scale.quick]\nlink = { rate = "300Mbit/s" }\n'
    text = TWO.replace('name = "y"\n', 'name = "y"\nrate = "10Mbit/s"\n') + LINK + scale
    rates = {
        edition: [parse(text, scale=edition).lab_spec(name, [(0,)]).link.rate_bps for name in "xy"]
        for edition in ("", "quick")
    }
    assert rates == {"": [1e9, 1e7], "quick": [3e8, 1e7]}
    assert parse(text, scale="quick").digest != parse(TWO + LINK, scale="").digest


def test_claims_follow_what_the_scale_changes() -> None:
    quick = quick_of()
    (comparison,) = quick.tests["c"].comparisons
    where = Where(None, (("duration", '"1s"'), ("packet_size", "64")))
    assert comparison.left == VpnSide("wireguard/go", where)
    # A size that was left out is not another size.
    (comparison,) = quick_of("packet_size = 512\n").tests["c"].comparisons
    assert ("packet_size", "64") in comparison.left.where.parameters  # type: ignore[union-attr]


def test_a_run_remembers_its_scale() -> None:
    quick = quick_of()
    again = Study.recalled(quick.text, quick.canonical, CATALOGUE)
    assert again.digest == quick.digest
    assert again.requested == quick.requested


@pytest.mark.parametrize(
    ("more", "what", "why", "remedy"),
    [
        ('[scale.q]\ndurration = "1s"\n', "line 24, scale.q.durration", "no measurement", '"dura'),
        ('[scale.q]\nduration = "0s"\n', "line 24, scale.q.duration", "more than 0", ""),
        ('[scale.q]\nvpns = ["x"]\n', "line 24, scale.q.vpns[0]", 'no VPN "x"', "wireguard/go"),
        ('[scale.q]\nconditions = ["z"]\n', "scale.q.conditions[0]", 'no condition "z"', "x, y"),
        ('[scale.q]\nmeasurements = ["mtu"]\n', "scale.q.measurements[0]", '"mtu"', "rtt, tcp"),
        ("[scale.q]\nudp = 5\n", "scale.q.udp", "must be a table", "[scale.q.udp]"),
        ("[scale.q.udp]\npackt = 5\n", "scale.q.udp.packt", 'no parameter "packt"', "packet_size"),
        ("[scale.q]\nblocks = 0\n", "line 24, scale.q.blocks", "at least 1", ""),
        ('[scale.q]\nlink = { rate = "0bit/s" }\n', "scale.q.link.rate", "more than 0", ""),
        (
            "[scale.q]\nlink = { mtu = 1400 }\n",
            "scale.q.link.mtu",
            "not a key",
            "into [[condition]]",
        ),
        ('[[scale]]\nname = "q"\n', "scale", "must be a table", ""),
        ('[scale."a b"]\nblocks = 1\n', "scale", "not a name", ""),
    ],
)
def test_mistakes_in_a_scale(more: str, what: str, why: str, remedy: str) -> None:
    refused(TWO + more, what, why, remedy)


def test_a_scale_that_is_not_there() -> None:
    refused(TWO + QUICK, "", 'no scale "quik"', '"quick"', scale="quik")
    refused(TWO, "", 'no scale "quick"', scale="quick")


LACKING = '[[lacking]]\nkind = "{}"\nname = "{}"\nreason = "it needs a kernel"\n'


def test_what_is_lacking_is_known_with_its_reason() -> None:
    study = parse(
        'name = "s"\nvpns = ["none", "mesh/relay", "wireguard/go"]\n[lab]\ntopology = "ring"\n'
        + '[[condition]]\nname = "x"\n[[condition]]\nname = "no-aes"\n'
        + UDP
        + '[[measurement]]\nkind = "k8s_api"\nrequests = [1, 2]\n'
        + LACKING.format("vpn", "mesh/relay")
        + LACKING.format("vpn", "wireguard/go")
        + LACKING.format("measurement", "k8s_api")
        + LACKING.format("condition", "no-aes")
        + LACKING.format("lab", "ring")
    )
    assert study.vpns == ("none", "mesh/relay", "wireguard/go")
    assert [one.parameters for one in study.requested["x"][1:]] == [
        '{"requests":1}',
        '{"requests":2}',
    ]
    lacking = study.lacking
    assert set(lacking.vpns) == {"mesh/relay"}
    assert set(lacking.measurements) == {"k8s_api"}
    assert "no lab ring: it needs a kernel" in lacking.lab
    assert "no VPN mesh/relay" in lacking.reason("mesh/relay", "x", "udp")
    assert "no condition no-aes" in lacking.reason("none", "no-aes", "udp")


def test_what_is_known_is_not_lacking() -> None:
    study = parse(
        HEAD + UDP + LACKING.format("vpn", "wireguard/go") + LACKING.format("measurement", "udp")
    )
    assert study.lacking.reason("wireguard/go", "clean", "udp") == ""


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('name = "s"\nvpns = ["mesh/relay"]\n' + UDP, 'VPN "mesh/relay"'),
        (HEAD + UDP + '[lab]\ntopology = "ring"\n', '"star" or "mesh"'),
        (HEAD + '[[measurement]]\nkind = "k8s_api"\n', 'no measurement "k8s_api"'),
        (HEAD + UDP + LACKING.format("cloud", "x"), '"vpn"'),
        (HEAD + UDP + '[[lacking]]\nkind = "vpn"\nname = "x"\n', '"reason" is missing'),
    ],
)
def test_what_is_not_known_stays_an_error(text: str, why: str) -> None:
    refused(text, "", why)


def test_cells_are_left_out() -> None:
    study = parse(
        TWO
        + '[[exclude]]\nvpns = ["openvpn/*"]\nconditions = ["y"]\n'
        + '[[exclude]]\nmeasurements = ["udp"]\nparameters = { packet_size = 512 }\n'
    )
    cells = cells_of(study)
    assert len(cells) == 3 * 5 + 3 * 5 - 5 - 5
    assert not [cell for cell in cells if cell.vpn.startswith("openvpn") and cell.condition == "y"]
    assert not [cell for cell in cells if '"packet_size":512' in cell.parameters]


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ('[[exclude]]\nvpns = ["x"]\n', "no cell of the study matches"),
        ("[[exclude]]\n", "leave out all cells"),
        ("[exclude]\n", "must be an array"),
    ],
)
def test_mistakes_in_an_exclusion(more: str, why: str) -> None:
    refused(TWO + more, "", why)


PUBLISHED = (
    '[[published]]\nvpn = "wireguard/go"\nmeasurement = "udp"\nmetric = "goodput_bps"\n'
    'value = 116.5\nunit = "Mbit/s"\nplace = "table 3"\n'
)


def test_published_values_have_the_unit_of_the_metric() -> None:
    more = 'condition = "x"\nparameters = { packet_size = 64 }\nsd = 2\nn = 100\n'
    (value,) = parse(TWO + PUBLISHED + more).published
    assert (value.value, value.unit, value.sd, value.n) == (116.5e6, "bit/s", 2e6, 100)
    assert value.printed == "116.5 Mbit/s"
    assert value.where == Where("x", (("packet_size", "64"),))


@pytest.mark.parametrize(
    ("old", "new", "what", "why"),
    [
        ("wireguard/go", "wiregard/go", "published[0].vpn", "no VPN"),
        ('"udp"', '"mtu"', "published[0].metric", "no measurement"),
        ("goodput_bps", "goodput", "published[0].metric", 'no metric "goodput"'),
        ("Mbit/s", "ms", "published[0].unit", "cannot be converted to bit/s"),
        ('place = "table 3"\n', "", "place", "missing"),
        ("value = 116.5", "value = nan", "published[0].value", "finite"),
    ],
)
def test_mistakes_in_published_values(old: str, new: str, what: str, why: str) -> None:
    refused(TWO + PUBLISHED.replace(old, new), what, why)
