"""A figure as SVG and PNG. Nothing is fetched from a network."""

from __future__ import annotations

import re
from typing import NamedTuple

import vl_convert

_DEFINED = re.compile(r'<clipPath id="clip(\d+)"')
_CLIP = re.compile(r'(<clipPath id="clip|clip-path="url\(#clip)(\d+)')


class Images(NamedTuple):
    """One figure; the PNG has two pixels for each of the SVG's."""

    svg: str
    png: bytes


def images(spec: str) -> Images:
    """The images of a Vega-Lite specification in JSON."""
    vega = vl_convert.vegalite_to_vega(spec)
    svg = _numbered_alone(vl_convert.vega_to_svg(vega, allowed_base_urls=[]))
    return Images(svg, bytes(vl_convert.svg_to_png(svg, scale=2)))


def _numbered_alone(svg: str) -> str:
    """Clip paths numbered from 1: Vega counts on over all figures that a process draws."""
    numbers = {number: place for place, number in enumerate(_DEFINED.findall(svg), 1)}
    return _CLIP.sub(lambda one: f"{one[1]}{numbers.get(one[2], one[2])}", svg)
