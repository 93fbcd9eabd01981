"""Every mistake is named with its line, its key, the reason and a remedy."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from culvert.errors import StudyError
from culvert.study.study import Study
from tests.study.dummies import CATALOGUE, HEAD, UDP, parse

ONE_VPN = 'name = "s"\nvpns = ["none"]\n'

WIRE = '[lab]\nlink = { kind = "wire" }\n'


def refused(text: str) -> StudyError:
    with pytest.raises(StudyError) as caught:
        parse(text)
    return caught.value


@pytest.mark.parametrize(
    ("text", "what", "why", "remedy"),
    [
        ('name = "s\n', "line 1", "not TOML", "toml.io"),
        ('name = "s"\nname = "t"\n', "line 2", "not TOML", "toml.io"),
        ("", "name", '"name" is missing', "add it"),
        (ONE_VPN, "measurement", "missing", "add it"),
        ('vpn = ["none"]\n', "line 1, vpn", "not a key", 'did you mean "vpns"?'),
        ("zzz = 1\n", "line 1, zzz", "not a key", "known are build, claim, condition"),
        (ONE_VPN + "conditions = 1\n", "line 3, conditions", "not a key", "condition"),
        (ONE_VPN + '[measurement]\nkind = "udp"\n', "line 3", "must be an array", ""),
        ('name = "a b"\nvpns = ["none"]\n' + UDP, "line 1, name", "not a name", "letters"),
        ('name = 5\nvpns = ["none"]\n' + UDP, "line 1, name", "must be text in quotes", ""),
        ('name = "s"\nvpns = []\n' + UDP, "line 2, vpns", "empty", "at least 1"),
        ('name = "s"\nvpns = "none"\n' + UDP, "line 2, vpns", "must be an array", ""),
        (
            'name = "s"\nvpns = [\n  "none",\n  "wiregard",\n]\n' + UDP,
            "line 4, vpns[1]",
            'VPN "wiregard"',
            "did you mean",
        ),
        (
            'name = "s"\nvpns = ["none", "none"]\n' + UDP,
            "line 2, vpns[1]",
            "listed twice",
            "once",
        ),
        (
            'name = "s"\nvpns = ["wireguard/go+x+y", "wireguard/go+y+x"]\n' + UDP,
            "vpns[1]",
            "listed twice",
            "once",
        ),
        (
            ONE_VPN + '[[measurement]]\nkind = "upd"\n',
            "line 4, measurement[0].kind",
            'no measurement "upd"',
            'did you mean "udp"?',
        ),
        (
            ONE_VPN + UDP + "packt_size = 64\n",
            "line 5, measurement[0].packt_size",
            "no parameter",
            'did you mean "packet_size"?',
        ),
        (
            ONE_VPN + UDP + 'packet_size = [\n  64,\n  "mux",\n]\n',
            "line 7, measurement[0].packet_size[1]",
            'must be a whole number or "max", not "mux"',
            'did you mean "max"?',
        ),
        (
            ONE_VPN + UDP + "packet_size = 27\n",
            "line 5, measurement[0].packet_size",
            'must be at least 28 or "max", not 27',
            "",
        ),
        (ONE_VPN + UDP + "packet_size = []\n", "line 5", "array is empty", "add a value"),
        (ONE_VPN + UDP + "duration = 5\n", "line 5", "5 has no unit", '"5s"'),
        (ONE_VPN + UDP + 'duration = "0s"\n', "line 5", "more than 0", ""),
        (
            ONE_VPN + '[[measurement]]\nkind = "rtt"\nprobes = "5"\n',
            "line 5, measurement[0].probes",
            'must be a whole number, not "5"',
            "",
        ),
        (ONE_VPN + UDP + "rate = nan\n", "line 5", "not a finite number", ""),
        (ONE_VPN + UDP + "rate = 2026-01-01\n", "line 5", "is not a unit", ""),
        (ONE_VPN + UDP + UDP, "line 5, measurement[1]", "requested twice", "remove one"),
        (
            ONE_VPN + UDP + "packet_size = [64, 64]\n",
            "line 3, measurement[0]",
            "requested twice",
            "remove one",
        ),
        (ONE_VPN + "measurement = [3]\n", "line 3, measurement[0]", "must be a table", ""),
        (ONE_VPN + "[[measurement]]\nduration = 1\n", "kind", '"kind" is missing', "add it"),
        (
            ONE_VPN + UDP + '[lab]\ntopology = "pear"\n',
            "line 6, lab.topology",
            'must be "pair" or "routed" or "star" or "mesh"',
            'did you mean "pair"?',
        ),
        (ONE_VPN + UDP + "[lab]\nlink = { mtu = 68 }\n", "lab.link.mtu", "at least 576", ""),
        (ONE_VPN + UDP + "[lab]\nlink = { mtu = true }\n", "lab.link.mtu", "whole number", ""),
        (ONE_VPN + UDP + '[lab]\nlink = { offloads = "no" }\n', "offloads", "true or false", ""),
        (ONE_VPN + UDP + '[lab]\nlink = { kind = "wir" }\n', "kind", '"veth"', '"wire"?'),
        (
            ONE_VPN + UDP + '[lab]\nlink = { rate = "0bit/s" }\n',
            "lab.link.rate",
            "more than 0",
            "",
        ),
        (ONE_VPN + UDP + '[lab]\ncpus = "splt"\n', "lab.cpus", '"split"', 'did you mean "split"?'),
        (ONE_VPN + UDP + "[lab]\ncpus = { c = [0] }\n", "lab.cpus.c", 'no node "c"', "a, b"),
        (ONE_VPN + UDP + "[lab]\ncpus = { a = [-1] }\n", "lab.cpus.a[0]", "at least 0", ""),
        (ONE_VPN + UDP + "[lab]\ncpus = { a = [] }\n", "lab.cpus.a", "empty", "at least 1"),
        (
            ONE_VPN + UDP + "[lab]\ncpus = { router = [0] }\n",
            "lab.cpus.router",
            'no node "router"',
            "a, b",
        ),
        (
            ONE_VPN + UDP + '[[condition]]\nname = "x"\nloss = "1%"\n',
            "line 7, condition[0].loss",
            "a veth link does not support",
            'write kind = "wire"',
        ),
        (
            ONE_VPN + UDP + WIRE + '[[condition]]\nname = "x"\nloss = 0.01\n',
            "condition[0].loss",
            "no unit",
            '"1%"',
        ),
        (
            ONE_VPN + UDP + WIRE + '[[condition]]\nname = "x"\ndelay = "2min"\n',
            "condition[0].delay",
            "at most 60000000000",
            "",
        ),
        (
            ONE_VPN + UDP + WIRE + '[[condition]]\nname = "x"\nreorder = "1%"\n',
            "condition[0].reorder",
            "it needs a delay",
            "add a delay",
        ),
        (
            ONE_VPN + UDP + WIRE + '[[condition]]\nname = "x"\npreset = "satelite"\n',
            "condition[0].preset",
            "not a preset",
            '"satellite"?',
        ),
        (
            ONE_VPN
            + UDP
            + '[lab]\nlink = { kind = "netem" }\n[[condition]]\nname = "x"\njitter = "1ms"\n',
            "condition[0].jitter",
            "order of packets",
            'kind = "wire"',
        ),
        (
            ONE_VPN + UDP + '[[condition]]\nname = "x"\n[[condition]]\nname = "x"\n',
            "line 8, condition[1].name",
            "two conditions",
            "different name",
        ),
        (
            ONE_VPN + UDP + '[[condition]]\nname = "x"\ncongestion = "bbr"\n',
            "line 7, condition[0].congestion",
            "no measurement",
            "tcp",
        ),
        (
            ONE_VPN
            + '[[condition]]\nname = "x"\ncongestion = "bbr"\n'
            + '[[measurement]]\nkind = "tcp"\ncongestion_control = "reno"\n',
            "line 8, measurement[0].congestion_control",
            'condition "x" sets it as well',
            "one place",
        ),
        (ONE_VPN + UDP + "[plan]\nblocks = 0\n", "plan.blocks", "at least 1", ""),
        (ONE_VPN + UDP + '[plan]\nblocks = "5"\n', "plan.blocks", "whole number", ""),
        (
            ONE_VPN + UDP + "[plan]\nblocks = { min = 2 }\n",
            "plan.blocks",
            "neither max nor budget",
            "max",
        ),
        (
            ONE_VPN + UDP + "[plan]\nblocks = { min = 9, max = 3 }\n",
            "line 6, plan.blocks.min",
            "min 9 is more than max 3",
            "swap",
        ),
        (
            ONE_VPN + UDP + '[plan]\nblocks = { max = 3, until = "ci < 2" }\n',
            "plan.blocks.until",
            "not a stopping rule",
            '"ci <= 2%"',
        ),
        (
            ONE_VPN + UDP + '[plan]\nblocks = { max = 3, until = "ci <= 0%" }\n',
            "plan.blocks.until",
            "0%",
            '"ci <= 2%"',
        ),
        (
            ONE_VPN + UDP + '[plan]\nblocks = { max = 3, until = "claims decided" }\n',
            "line 6, plan.blocks.until",
            "no claim",
            "[[claim]]",
        ),
        (
            ONE_VPN + UDP + '[plan]\nblocks = { max = 3, until = "ranks decided" }\n',
            "line 6, plan.blocks.until",
            "one VPN has no ranks",
            "add a VPN",
        ),
        (
            ONE_VPN + UDP + '[plan]\nblocks = { max = 3, stop = "each" }\n',
            "line 6, plan.blocks.stop",
            "needs a stopping rule",
            "until",
        ),
        (
            ONE_VPN + UDP + '[[claim]]\nid="c"\ntext="t"\ntest="udp.goodput: none > all"\n',
            "line 8, claim[0].test",
            'column 1: the measurement "udp" has no metric "goodput"',
            '"goodput_bps"',
        ),
        (ONE_VPN + UDP + "[plan]\nseed = -1\n", "plan.seed", "at least 0", ""),
        (ONE_VPN + UDP + '[plan]\norder = "rnd"\n', "plan.order", '"random"', ""),
        (ONE_VPN + UDP + '[plan]\npause = "long"\n', "plan.pause", "not a duration", '"5s"'),
        (ONE_VPN + UDP + '[[claim]]\nid = "c"\n', "claim[0].text", "missing", "add it"),
        (
            ONE_VPN + UDP + '[[claim]]\nid = "c"\ntext = "t"\npublished = { value = "x" }\n',
            "claim[0].published.value",
            "must be a number",
            "",
        ),
        (
            ONE_VPN + UDP + '[[claim]]\nid="c"\ntext="t"\n[[claim]]\nid="c"\ntext="t"\n',
            "claim[1].id",
            "two claims",
            "different name",
        ),
    ],
)
def test_a_mistake_is_named(text: str, what: str, why: str, remedy: str) -> None:
    error = refused(text)
    assert error.what.startswith("s.toml")
    assert what in error.what
    assert why in error.why
    assert remedy in error.remedy
    assert error.remedy
    assert "\n" not in str(error)


def test_other_mistakes_are_counted() -> None:
    error = refused(ONE_VPN + UDP + "packet_size = 3\nduration = 7\n[lab]\n")
    assert "line 5" in error.what
    assert "1 more problem, line 6" in error.why


@pytest.mark.parametrize("depth", [50, 200, 300, 400, 500, 100_000])
def test_deep_nesting_is_no_traceback(depth: int) -> None:
    assert refused("a = " + "[" * depth + "]" * depth).remedy
    assert refused(ONE_VPN + UDP + "rate = " + "[" * depth + "]" * depth).remedy


def test_the_first_mistake_in_the_file_comes_first() -> None:
    error = refused('plan = { seed = -1 }\nname = "s"\nvpns = []\n' + UDP)
    assert "line 1, plan.seed" in error.what
    assert "1 more problem, line 3" in error.why


SNIPPETS = st.sampled_from(
    [
        HEAD,
        ONE_VPN,
        UDP,
        "[plan]\n",
        "[lab]\n",
        "[[condition]]\n",
        "[[claim]]\n",
        "blocks = {max=1}\n",
        'cpus = "split"\n',
        'name = "x"\n',
        "rate = 5\n",
        'until = "ci <= 2%"\n',
        "packet_size = [64, [1], {a=1}]\n",
        "measurement = [{kind = 5}, {kind = 'rtt', percentiles = [[1.0], 2.0]}]\n",
        "lab = {link = [], cpus = [1]}\n",
        "plan = 1979-05-27T07:32:00Z\n",
        "condition = [[], {}]\n",
        "vpns = [1, true, inf]\n",
        "kind = 'tcp'\n",
        "published = [[]]\n",
        "[[published]]\n",
        "[[lacking]]\n",
        'kind = "vpn"\nname = "mesh"\nreason = "r"\n',
        'kind = "lab"\nname = "mesh"\nreason = "r"\n',
        'kind = "measurement"\nname = "k8s"\nreason = "r"\n',
        'lab = {topology = "mesh", kind = ["mesh"]}\n',
        "lacking = [1, {kind = []}]\n",
        '[[measurement]]\nkind = "k8s"\nx = [1, nan, {a = inf}]\n',
        "[scale.q]\n",
        "udp = {a = nan, packet_size = [[]]}\n",
        "duration = [[], 1979-05-27]\n",
        "conditions = [1]\n",
        "scale = {q = 1}\n",
        "[[exclude]]\n",
        'vpns = ["*"]\n',
        "parameters = {x = inf, y = 1979-05-27T07:32:00Z, z = [{}]}\n",
        'id = "c"\ntext = "t"\ntest = "udp.goodput_bps[packet_size=nan]: none > all"\n',
        'vpn = "none"\nmeasurement = "udp"\nmetric = "goodput_bps"\nvalue = 1\n',
        'unit = "Mbit/s"\nplace = "p"\n',
    ]
)


@given(st.lists(SNIPPETS, max_size=8).map("".join) | st.text(max_size=40))
def test_any_text_is_a_study_or_a_study_error(text: str) -> None:
    try:
        outcome: object = Study.parse(text, CATALOGUE).requested
    except StudyError as error:
        outcome = error.what and error.why and error.remedy
    assert outcome
