"""Numbers, names, colours, sentences, and the terminal."""

from __future__ import annotations

import io
import itertools
import math
import re
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from culvert.analysis.headline import Estimate, Winner
from culvert.decide.contrast import Contrast
from culvert.decide.decision import Pair
from culvert.report.labels import Labels, everything, order, short_version
from culvert.report.numbers import Scale, duration, grouped, percent, scale_for
from culvert.report.palette import COST, FAMILIES, LOSS, MODES, colours, shapes
from culvert.report.sentences import difference, joined, share, standing, times
from culvert.report.terminal import summary as terminal
from culvert.statistics.ranks import Rank

from .synthetic import NASTY, Run, make_run, nasty_run
from .truths import VPNS

MBIT = Scale(1e6, "Mbit/s")


@pytest.mark.parametrize(
    ("value", "low", "high", "text"),
    [
        (412e6, 405e6, 420e6, "412 [405, 420]"),
        (941.23e6, 940.9e6, 941.5e6, "941.2 [940.9, 941.5]"),
        (9.414e6, 9.1e6, 9.6e6, "9.41 [9.10, 9.60]"),
        (6.46e9, 1.78e9, 7.28e9, "6\u202f500 [1\u202f800, 7\u202f300]"),
        (7.55e6, 0.35e6, 199.75e6, "7.5 [0.3, 200]"),
        (136e6, 86e6, 1571e6, "140 [90, 1\u202f600]"),
        (-12e6, -195_534e6, 12_443e6, "\u221212 [\u2212200\u202f000, 10\u202f000]"),
        (5e6, 5e6, 5e6, "5.00 [5.00, 5.00]"),
        (0.0, None, None, "0"),
        (12_345e6, None, None, "12\u202f345"),
        (-3.21e6, None, None, "\u22123.21"),
    ],
)
def test_values_with_intervals(
    value: float, low: float | None, high: float | None, text: str
) -> None:
    assert MBIT.with_interval(value, low, high) == text


def test_one_unit_for_a_column() -> None:
    assert scale_for("bit/s", [9.6e9, 1.3e9]).name == "Gbit/s"
    assert scale_for("bit/s", [9.6e9, 20e6]).name == "Mbit/s"
    assert scale_for("us", [21.0, 96.0]).name == "µs"
    assert scale_for("bit/s", [6.46e9, 0.277e9]).name == "Mbit/s"
    assert scale_for("ms", [0.0773, 27.4]).name == "ms"
    assert scale_for("ms", [0.4]).name == scale_for("ms", [4000.0]).name == "ms"
    assert scale_for("bytes", [1420.0]).text(1420.0) == "1\u202f420 bytes"
    assert scale_for("bytes", [9.7e6]).name == "MB"
    assert scale_for("furlongs", [3.0]).name == "furlongs"
    assert scale_for("bit/s", []).name == "bit/s"


@given(st.floats(1e-3, 1e9), st.floats(1e-3, 1e3), st.floats(0.0, 1.0))
def test_an_intervals_ends_have_two_digits_of_its_width(
    value: float, relative: float, place: float
) -> None:
    width = relative * value
    low, high = value - place * width, value + (1 - place) * width
    step = 10.0 ** (math.floor(math.log10(high - low)) - 1)
    told = Scale(1.0, "x", digits=9).ends(value, low, high).strip("[]").split(", ")
    for text, end in zip(told, (low, high), strict=True):
        shown = float(text.replace("\u202f", "").replace("\u2212", "-"))
        assert abs(shown - end) <= 0.5 * step * (1 + 1e-6) + 1e-6
        if abs(end) >= 10 * step and step >= 1:
            assert shown % step == pytest.approx(0, abs=1e-6 * step) or shown % step == (
                pytest.approx(step, rel=1e-6)
            )


def _effect(value: float, low: float | None, high: float | None) -> Estimate:
    distinguishable = low is not None and high is not None and not low <= 0 <= high
    return Estimate(value, low, high, 5, distinguishable)


@pytest.mark.parametrize(
    ("effect", "text"),
    [
        (_effect(207.4, 157, 228), "+207 µs [157, 228]"),
        (_effect(-20.2, -30.5, -11), "\u221220 µs [\u221230, \u221211]"),
        (_effect(12.3, -195_534.8, 12_443.6), "no difference shown [\u2212200, 10] ms"),
        (_effect(207.4, None, None), "+207 µs"),
    ],
)
def test_a_difference_is_told_only_where_one_is_shown(effect: Estimate, text: str) -> None:
    assert str(difference("us", effect)) == text


@pytest.mark.parametrize(
    ("version", "short"),
    [
        ("2.6.14, package 2.6.14-0+deb12u2, OpenSSL 3.0.19", "2.6.14"),
        ("v0.0.0-20260522210424-ecfc5a8d5446 (go1.26.8)", "v0.0.0-20260522"),
        ("v1.2.4-0.20260522210424-ecfc5a8d5446", "v1.2.4-0.20260522"),
        ("v1.2.3-rc.1.0.20260522210424-ecfc5a8d5446, x", "v1.2.3-rc.1.0.20260522"),
        ("0.0.20220316-1+b4 (go1.19.8)", "0.0.20220316-1+b4 (go1.19.8)"),
        ("", ""),
    ],
)
def test_versions_are_shortened(version: str, short: str) -> None:
    assert short_version(version) == short


@given(st.floats(-1e15, 1e15), st.integers(0, 6))
def test_grouping_keeps_the_number(value: float, decimals: int) -> None:
    text = grouped(value, decimals).replace("\u202f", "").replace("\u2212", "-")
    assert float(text) == pytest.approx(value, abs=0.5000001 * 10**-decimals, rel=1e-9)


@given(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(["bit/s", "us", "1", "x"]))
def test_any_number_can_be_told(value: float, unit: str) -> None:
    assert scale_for(unit, [value]).text(value)


def test_shares_times_and_durations() -> None:
    assert str(share(0.41, 0.40, 0.43)) == "41 % [40, 43]"
    assert str(share(0.097, 0.094, 0.1004)) == "9.7 % [9.4, 10.0]"
    assert str(times(8.1, None, None)) == "8.10\u00d7"
    assert str(times(8.1, 8.0, 8.6)) == "8.10\u00d7 [8.00, 8.60]"
    assert percent(0.5) == "50 %"
    assert duration(252) == "4 min 12 s"
    assert duration(7300) == "2 h 1 min"
    assert joined(["a", "b", "c"]) == "a, b and c"


def test_labels_tell_only_what_differs() -> None:
    frame = pl.DataFrame(
        {
            "condition": ["clean"] * 3,
            "measurement": ["tcp", "udp", "udp"],
            "parameters": [
                '{"duration":2.5}',
                '{"packet_size":64,"rate":null}',
                '{"packet_size":"max","rate":null}',
            ],
        }
    )
    labels = Labels(frame)
    assert labels.cell("clean", "tcp", '{"duration":2.5}') == "TCP"
    told = labels.cell("clean", "udp", '{"packet_size":64,"rate":null}')
    assert told == "UDP, 64 byte packets"
    assert everything("udp", '{"duration":2.0,"rate":null}') == "unlimited rate, for 2 s"
    assert (
        everything("tcp", '{"warmup":"500ms","duration":"2s","nodelay":false,"write_size":131072}')
        == "TCP_NODELAY off, writes of 131072 bytes, for 2 s, after 500 ms of warm-up"
    )
    assert (
        everything("rtt", '{"packet_size":84,"probes":2000,"protocol":"udp","rate":"1000/s"}')
        == "over UDP, 84 byte packets, rate 1000/s, 2000 probes"
    )
    assert everything("initiation", '{"cycles":5}') == "5 starts"
    assert (
        everything("absent", '{"x_{y":true,"z":[1],"spin":"100us"}') == "spin 100 µs, x y on, z [1]"
    )
    assert everything("udp", '{"arrivals":"constant","port":0,"threads":1,"flows":1}') == "one flow"
    assert order('{"packet_size":64}') < order('{"packet_size":"max"}')


def _luminance(colour: str) -> float:
    parts = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def _contrast(a: str, b: str) -> float:
    high, low = sorted((_luminance(a), _luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


# Machado, Oliveira and Fernandes (2009), severity 1.0, on linear RGB.
_BLIND = {
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}


def _lab(colour: str, blindness: str) -> np.ndarray:
    parts = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    linear = np.clip(np.array(_BLIND[blindness]) @ linear, 0, 1)
    matrix = np.array(
        [
            [0.4124, 0.3576, 0.1805],
            [0.2126, 0.7152, 0.0722],
            [0.0193, 0.1192, 0.9505],
        ]
    )
    xyz = matrix @ linear / [0.95047, 1.0, 1.08883]
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("blindness", sorted(_BLIND))
@pytest.mark.parametrize(
    "palette",
    [
        [FAMILIES[name] for name in ("wireguard", "openvpn", "strongswan")],
        list(COST.values()),
        list(LOSS.values()),
        list(MODES.values()),
    ],
    ids=["vpns", "cost", "loss", "modes"],
)
def test_colours_are_told_apart_without_full_colour_vision(
    blindness: str, palette: list[str]
) -> None:
    for a, b in itertools.combinations(palette, 2):
        distance = float(np.linalg.norm(_lab(a, blindness) - _lab(b, blindness)))
        assert distance > 11, (a, b, distance)


@pytest.mark.parametrize("paper", ["#ffffff", "#161a21"])
def test_vpn_colours_stand_out_from_light_and_dark_paper(paper: str) -> None:
    for name, colour in FAMILIES.items():
        assert _contrast(colour, paper) > 2.9, name


def test_a_vpn_keeps_its_colour_whoever_else_is_there() -> None:
    few, many = colours(["none", "openvpn/a"]), colours(["wireguard/go", "none", "openvpn/a"])
    assert few["openvpn/a"] == many["openvpn/a"] == FAMILIES["openvpn"]
    assert few["none"] == many["none"]
    variants = [f"openvpn/{n}" for n in range(5)]
    assert len(set(colours(variants).values())) == 5
    assert len(set(shapes(variants).values())) == 5


def test_no_two_families_share_a_colour() -> None:
    found = colours(
        ["none", "none/mtu-1450", "headscale/direct", "mine", "zerotier/relay", "yours"]
    )
    assert len(set(found.values())) == 6
    assert found["none"] == colours(["none"])["none"]


def shown(run: Run, width: int = 140) -> str:
    text = io.StringIO()
    console = Console(file=text, width=width, force_terminal=False)
    console.print(terminal.summary_of(run.data))
    return text.getvalue()


def test_the_terminal_shows_the_same_figures() -> None:
    text = shown(make_run())
    assert "wireguard/go" in text
    assert "14 %" in text
    assert "212 packets went around the tunnel" in text
    assert "98 ok, 1 invalid, 1 failed, 0 unsupported" in text


@pytest.mark.parametrize("width", [40, 80, 200])
def test_any_width_and_any_text_will_do(width: int) -> None:
    assert shown(make_run(blocks=0), width)
    assert shown(make_run(vpns={"none": VPNS["none"]}, blocks=1), width)
    assert shown(nasty_run(), width)


@pytest.mark.parametrize("width", [80, 100, 120, 160])
def test_no_name_is_broken_and_no_line_too_long(width: int) -> None:
    text = shown(make_run(blocks=6), width)
    lines = text.splitlines()
    assert max(len(line) for line in lines) <= width
    for vpn in VPNS:
        assert any(vpn in line.split() for line in lines), vpn
    _, conclusion, tables = text.partition("intervals.")  # Rich breaks prose at any blank
    assert conclusion
    figures = re.findall(r"\[[^]]*,[^]]*\]", tables)
    assert len(figures) >= 18
    assert not [figure for figure in figures if "\n" in figure]


def test_the_terminal_names_what_limits_trust_and_short_versions() -> None:
    vpns = dict(VPNS)
    long = "v0.0.0-20260522210424-ecfc5a8d5446 (go1.26.8)"
    vpns["wireguard/go"] = replace(vpns["wireguard/go"], version=long)
    text = " ".join(shown(make_run(vpns=vpns)).split())
    assert "load average 2.9 at the start" in text
    assert "v0.0.0-20260522 " in text
    assert "ecfc5a8d5446" not in text


def test_foreign_text_is_never_markup() -> None:
    run = make_run(vpns={"none": VPNS["none"]}, blocks=1, measurements=(("tcp", {}),), faults=False)
    run.trials = run.trials.with_columns(
        status=pl.lit("failed"), reason=pl.lit("[bold]no[/bold] [link=x]y"), remedy=pl.lit("[/]")
    )
    text = shown(run)
    assert "[bold]no[/bold] [link=x]y" in text
    assert "[/]" in text
    assert NASTY


@pytest.mark.parametrize(
    ("se", "more", "text"),
    [
        (0.01, 20, "about 20 more blocks"),
        (0.01, 1663, "they differ by at most 2.6 %"),
        (0.01, None, "they differ by at most 2.6 %"),
        (1.0, None, "over 200 more blocks"),
    ],
)
def test_what_is_not_distinguishable_has_a_bound_that_helps(
    se: float, more: int | None, text: str
) -> None:
    contrast = Contrast(0.0, se, df=5, n=6, effective=6, paired=True)
    pair = Pair("a", "b", 6, 0.0, contrast, True, 1.0, 1.0, True, more)
    ranks = {"a": Rank(1, 2), "b": Rank(1, 2)}
    winner = Winner("a", Estimate(1.0, None, None, 6), ("b",), (), 2, ranks, {"b": pair})
    assert standing(winner, "block") == f"not distinguishable from b ({text})"
