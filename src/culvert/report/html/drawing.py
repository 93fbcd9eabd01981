"""Figures as SVG and PNG, drawn by separate processes if there are many.

Drawing one takes a quarter of a second and holds Python's global lock, so threads do not help.
``python -P -m culvert.report.html.drawing`` is such a process: it reads specifications from
standard input and writes images to standard output, each preceded by its length.
"""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import IO, Any, NamedTuple

import vl_convert

MANY = 8
"""From so many figures on, separate processes are faster."""
MOST_PROCESSES = 4
_LENGTH = struct.Struct(">Q")


class Images(NamedTuple):
    """One figure."""

    svg: bytes
    png: bytes


def draw_all(specs: Sequence[Mapping[str, Any]]) -> Iterator[Images]:
    """Images of Vega-Lite specifications, in their order. Nothing is fetched from a network."""
    processes = min(os.cpu_count() or 1, MOST_PROCESSES)
    if len(specs) < MANY or processes < 2:
        yield from map(_draw, specs)
        return
    with ThreadPoolExecutor(processes) as threads:
        parts = [threads.submit(_drawn_apart, specs[n::processes]) for n in range(processes)]
        drawn = [part.result() for part in parts]
    for index in range(len(specs)):
        yield drawn[index % processes][index // processes]


def _drawn_apart(specs: Sequence[Mapping[str, Any]]) -> list[Images]:
    """Draw in a process; in this one if it fails."""
    with subprocess.Popen(
        [sys.executable, "-P", "-m", __name__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        found: list[Images] = []
        try:
            for spec in specs:
                _send(process.stdin, json.dumps(spec).encode())
                svg, png = _receive(process.stdout), _receive(process.stdout)
                if svg is None or png is None:
                    break
                found.append(Images(svg, png))
            process.stdin.close()
        except BrokenPipeError:
            process.kill()
    return found + [_draw(spec) for spec in specs[len(found) :]]


def _draw(spec: Mapping[str, Any]) -> Images:
    vega = vl_convert.vegalite_to_vega(dict(spec))
    svg = vl_convert.vega_to_svg(vega, allowed_base_urls=[])
    return Images(svg.encode(), vl_convert.svg_to_png(svg, scale=2))


def _send(stream: IO[bytes], content: bytes) -> None:
    stream.write(_LENGTH.pack(len(content)) + content)
    stream.flush()


def _receive(stream: IO[bytes]) -> bytes | None:
    """None at the end of the stream."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    content = stream.read(length)
    return content if len(content) == length else None


def main() -> None:
    """Draw until the input ends."""
    while (content := _receive(sys.stdin.buffer)) is not None:
        for image in _draw(json.loads(content)):
            _send(sys.stdout.buffer, image)


if __name__ == "__main__":
    main()
