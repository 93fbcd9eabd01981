"""A figure's images show what its specification says."""

from __future__ import annotations

import json
from typing import Any

from culvert.report.html.drawing import images


def spec(text: str, **changed: Any) -> str:
    found = {
        "data": {"values": [{"text": text}]},
        "mark": "text",
        "encoding": {"text": {"field": "text", "type": "nominal"}},
    }
    return json.dumps(found | changed)


def test_both_images_are_of_the_specification() -> None:
    first, second = images(spec("figure 1")), images(spec("figure 2"))
    assert "figure 1" in first.svg
    assert "figure 2" in second.svg
    assert first.png.startswith(b"\x89PNG")
    assert first.png != second.png


def test_a_figure_is_the_same_whatever_its_process_has_drawn_before() -> None:
    clipped = spec("clipped", mark={"type": "line", "clip": True})
    drawn = [images(clipped) for _ in range(3)]
    assert "clip-path" in drawn[0].svg
    assert drawn[0] == drawn[1] == drawn[2]
