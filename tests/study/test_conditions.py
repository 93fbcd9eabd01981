"""Conditions of a study as a lab is told them."""

from __future__ import annotations

from pathlib import Path

import pytest

from culvert.errors import StudyError
from culvert.topology.link.impairment import CLEAN, Blackout, Bursts, Codel, OneWay
from culvert.topology.link.jitter import Jitter, JitterShape
from culvert.topology.link.presets import PRESETS
from tests.study.dummies import parse

HEAD = """name = "s"
vpns = ["none"]
[[measurement]]
kind = "udp"
[lab]
link = { kind = "wire", rate = "1Gbit/s" }
[plan]
seed = 7
[[condition]]
name = "x"
"""


def one_way(text: str) -> OneWay:
    link = parse(HEAD + text).lab_spec("x", [(0,)]).link
    assert (link.kind, link.rate_bps, link.seed) == ("wire", 10**9, 7)
    assert link.impairment.a_to_b == link.impairment.b_to_a
    return link.impairment.a_to_b


def test_nothing_is_clean() -> None:
    assert one_way("") == CLEAN.a_to_b


def test_all_keys_of_an_impairment_are_read() -> None:
    text = (
        'loss = "1%"\ndelay = "50ms"\njitter = "5ms"\n'
        'reorder = "2%"\nduplicate = "3%"\ncorrupt = "0.1%"\n'
    )
    assert one_way(text) == OneWay(
        loss=0.01,
        delay_ns=50_000_000,
        jitter=Jitter(5_000_000),
        reorder=0.02,
        duplicate=0.03,
        corrupt=0.001,
    )


def test_a_key_goes_before_the_preset() -> None:
    chosen = one_way('preset = "satellite"\nloss = "1%"\n')
    assert chosen == OneWay(delay_ns=279_000_000, loss=0.01)


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_sets_its_impairment(name: str) -> None:
    study = parse(HEAD + f'preset = "{name}"\n')
    assert study.lab_spec("x", [(0,)]).link.impairment == PRESETS[name]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('queue = "100kB"', OneWay(queue_bytes=100_000)),
        ("queue = { packets = 50 }", OneWay(queue_packets=50)),
        ('queue = "codel"', OneWay(codel=Codel())),
        (
            'queue = { bytes = "1MB", codel = { target = "1ms" } }',
            OneWay(queue_bytes=1_000_000, codel=Codel(target_ns=1_000_000)),
        ),
        (
            'jitter = { spread = "1ms", distribution = "normal", reorders = true }',
            OneWay(jitter=Jitter(1_000_000, JitterShape.NORMAL, reorders=True)),
        ),
        ('loss = { to_bad = "1%", to_good = "25%" }', OneWay(loss=Bursts(0.01, 0.25))),
        ("loss = { packets = [0, 7] }", OneWay(loss=(0, 7))),
        (
            'blackout = { after = "2s", for = "500ms" }',
            OneWay(blackout=Blackout(500_000_000, 2_000_000_000)),
        ),
        ("drop_udp = true", OneWay(drop_udp=True)),
        ("drop_fragments = true", OneWay(drop_fragments=True)),
        ("drop_size_and_above = 1400", OneWay(drop_size_and_above=1400)),
        (
            'decide = "super-packet"\noffloads = true',
            OneWay(per_super_packet=True),
        ),
        ('decide = "packet"', OneWay()),
        ('limit = 1000\ndelay = "50ms"', OneWay(limit_packets=1000, delay_ns=50_000_000)),
    ],
)
def test_everything_that_the_wire_can(text: str, expected: OneWay) -> None:
    assert one_way(text) == expected


def test_each_direction_on_its_own() -> None:
    text = (
        'delay = "10ms"\nup = { loss = "1%", rate = "5Mbit/s" }\n'
        'down = { delay = "20ms", queue = { packets = 9 } }\n'
    )
    link = parse(HEAD + text).lab_spec("x", [(0,)]).link
    assert link.rate_bps == 10**9
    assert link.impairment.a_to_b == OneWay(delay_ns=10_000_000, loss=0.01, rate_bps=5_000_000)
    assert link.impairment.b_to_a == OneWay(delay_ns=20_000_000, queue_packets=9)


def test_files_lie_beside_the_study_and_count_by_content(tmp_path: Path) -> None:
    (tmp_path / "lte.trace").write_text("1\n5\n")
    (tmp_path / "delays.txt").write_text("3\n4\n5\n")
    text = HEAD + 'down = { trace = "lte.trace" }\njitter = { file = "delays.txt" }\n'
    study = parse(text, directory=tmp_path)
    down = study.lab_spec("x", [(0,)]).link.impairment.b_to_a
    assert down.trace is not None
    assert down.trace.path == tmp_path / "lte.trace"
    assert down.rate_on(10**9) is None
    assert down.jitter is not None
    assert (down.jitter.least_ns, down.jitter.longest_ns) == (3_000_000, 5_000_000)
    assert down.trace.sha256 in study.canonical
    assert str(tmp_path) not in study.canonical
    (tmp_path / "lte.trace").write_text("1\n6\n")
    assert parse(text, directory=tmp_path).digest != study.digest
    (tmp_path / "lte.trace").unlink()
    assert parse(text, directory=None).vpns == study.vpns


@pytest.mark.parametrize(
    ("text", "what", "why"),
    [
        ('trace = "none"', "condition[0].trace", "cannot be read"),
        ('down = { trace = "bad" }', "condition[0].down.trace", "line 1 is not a number"),
        ('jitter = { file = "bad" }', "condition[0].jitter.file", "line 1 is not a delay"),
        ("trace = 5", "condition[0].trace", "not a file name"),
        ("jitter = { reorders = true }", "condition[0].jitter", "a spread or a file"),
        ('jitter = { file = "good", distribution = "normal" }', "jitter.distribution", "the file"),
        ('loss = { to_bad = "1%" }', "condition[0].loss", "bursts"),
        ('loss = "1"', "condition[0].loss", "no unit"),
        ('queue = "many"', "condition[0].queue", "not a size"),
        ('queue = { bytes = "1kB", packets = 1 }', "queue.packets", "one limit"),
        (
            'up = { trace = "good", rate = "1Mbit/s" }',
            "condition[0].up.rate",
            "rate and trace exclude each other",
        ),
        ('reorder = "1%"', "condition[0].reorder", "needs a delay"),
        ('blackout = { after = "1s" }', "condition[0].blackout", "missing"),
        ('up = { los = "1%" }', "condition[0].up.los", '"los" is not a key'),
        ('decide = "super-packet"', "condition[0]", "without offloads"),
        ('decide = "socket"', "condition[0].decide", "super-packet"),
    ],
)
def test_what_cannot_be_is_named(tmp_path: Path, text: str, what: str, why: str) -> None:
    (tmp_path / "bad").write_text("x\n")
    (tmp_path / "good").write_text("5\n")
    with pytest.raises(StudyError) as caught:
        parse(HEAD + text + "\n", directory=tmp_path)
    assert what in caught.value.what
    assert why in caught.value.why


def test_a_queue_needs_something_to_wait_for() -> None:
    text = HEAD.replace(', rate = "1Gbit/s"', "") + 'queue = "codel"\n'
    with pytest.raises(StudyError, match="needs a rate") as caught:
        parse(text)
    assert "condition[0].queue" in caught.value.what
    assert one_way('queue = "codel"').codel == Codel()


def test_netem_says_what_it_cannot_do() -> None:
    text = HEAD.replace('"wire"', '"netem"') + "loss = { packets = [1] }\n"
    with pytest.raises(StudyError, match="netem") as caught:
        parse(text)
    assert "condition[0].loss" in caught.value.what


def test_the_digest_knows_them() -> None:
    studies = [parse(HEAD + text) for text in ("", 'loss = "1%"\n')]
    assert studies[0].digest != studies[1].digest
