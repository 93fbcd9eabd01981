"""Conditions of a study as a lab is told them."""

from __future__ import annotations

import pytest

from culvert.labs.impairment import CLEAN, Jitter, OneWay
from culvert.labs.presets import PRESETS
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


def test_all_keys() -> None:
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
def test_every_preset(name: str) -> None:
    study = parse(HEAD + f'preset = "{name}"\n')
    assert study.lab_spec("x", [(0,)]).link.impairment == PRESETS[name].impairment


def test_the_digest_knows_them() -> None:
    studies = [parse(HEAD + text) for text in ("", 'loss = "1%"\n')]
    assert studies[0].digest != studies[1].digest
