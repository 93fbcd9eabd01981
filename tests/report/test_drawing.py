"""Figures are drawn in their order, whatever happens to the processes that draw them."""

from __future__ import annotations

import json
import os
import signal
from typing import Any

import pytest

from culvert.errors import DeadlineExceeded
from culvert.report.html import drawing as drawing_module
from culvert.report.html.drawing import Drawing


def spec(text: str, **changed: Any) -> bytes:
    found = {
        "data": {"values": [{"text": text}]},
        "mark": "text",
        "encoding": {"text": {"field": "text", "type": "nominal"}},
    }
    return json.dumps(found | changed).encode()


SPECS = [spec(f"figure {number}") for number in range(10)]


def check(drawing: Drawing) -> None:
    images = [begun.result() for begun in [drawing.begin(spec) for spec in SPECS]]
    assert len(images) == len(SPECS)
    for number, image in enumerate(images):
        assert f"figure {number}".encode() in image.svg
        assert image.png.startswith(b"\x89PNG")


def test_figures_come_in_their_order_and_no_process_stays() -> None:
    with Drawing() as drawing:
        check(drawing)
    assert all(pen._process.returncode is not None for pen in drawing._pens)


@pytest.mark.skipif(os.cpu_count() == 1, reason="one CPU draws in this process")
@pytest.mark.parametrize("which", [0, 1], ids=["svg", "png"])
def test_a_process_that_died_is_replaced_by_this_one(which: int) -> None:
    with Drawing() as drawing:
        drawing._pens[which]._process.kill()
        check(drawing)


@pytest.mark.skipif(os.cpu_count() == 1, reason="one CPU draws in this process")
@pytest.mark.parametrize("which", [0, 1], ids=["svg", "png"])
def test_a_process_that_hangs_is_ended(monkeypatch: pytest.MonkeyPatch, which: int) -> None:
    with Drawing() as drawing:
        drawing.begin(SPECS[0]).result()
        monkeypatch.setattr(drawing_module, "DRAW_S", 1)
        drawing._pens[which]._process.send_signal(signal.SIGSTOP)
        content = SPECS[1] if which else spec("x" * (1 << 20))  # more than a pipe holds
        with pytest.raises(DeadlineExceeded, match="did not finish it within 1 s") as caught:
            drawing.begin(content, "goodput").result()
    assert caught.value.what == f"{['SVG', 'PNG'][which]} of figure goodput"
    assert caught.value.remedy
    assert all(pen._process.returncode is not None for pen in drawing._pens)


@pytest.mark.skipif(os.cpu_count() == 1, reason="one CPU draws in this process")
def test_after_an_error_the_rest_is_not_drawn_here(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[bytes] = []
    for step in ("_svg_of", "_png_of"):
        monkeypatch.setattr(f"culvert.report.html.drawing.{step}", drawn.append)

    def write() -> None:
        with Drawing() as drawing:
            for spec in SPECS:
                drawing.begin(spec)
            raise OSError("full")

    with pytest.raises(OSError, match="full"):
        write()
    assert drawn == []


def test_many_figures_start_more_processes_of_each_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    with Drawing() as drawing:
        assert [pen.step.value for pen in drawing._pens] == ["svg", "png"]
        for _ in range(2):
            check(drawing)
        assert [pen.step.value for pen in drawing._pens] == ["svg", "png"] * 2


def test_one_cpu_draws_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    with Drawing() as drawing:
        assert not drawing._pens
        check(drawing)


def test_a_figure_is_the_same_whatever_its_process_has_drawn_before() -> None:
    clipped = spec("clipped", mark={"type": "line", "clip": True})
    with Drawing() as drawing:
        drawn = [drawing.begin(clipped).result() for _ in range(3)]
    assert b"clip-path" in drawn[0].svg
    assert drawn[0] == drawn[1] == drawn[2]
