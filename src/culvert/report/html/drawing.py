"""Figures as SVG and PNG, drawn by separate processes beside this one.

Drawing one takes a tenth of a second and holds Python's global lock, so threads do not help; the
first takes longest, because it loads the libraries. ``Drawing`` starts a process at once, which
loads them while the run is still being analysed, and more if there are many figures.
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
from contextlib import suppress
from queue import SimpleQueue
from typing import IO, Any, NamedTuple, Self

import vl_convert

MANY = 8
"""So many figures are worth the start of one more process."""
MOST_PROCESSES = 4
_LENGTH = struct.Struct(">Q")
_FIRST: dict[str, Any] = {
    "data": {"values": [{"x": 1}]},
    "mark": "text",
    "encoding": {"text": {"field": "x", "type": "quantitative"}},
}


class Images(NamedTuple):
    """One figure."""

    svg: bytes
    png: bytes


class Drawing:
    """A context manager; leaving it ends its processes. Nothing is fetched from a network."""

    def __init__(self) -> None:
        self._spare = min((os.cpu_count() or 1) - 1, MOST_PROCESSES)  # one CPU is ours
        self._pens: list[_Pen] = []
        self._more(1)

    def draw(self, specs: Sequence[Mapping[str, Any]]) -> Iterator[Images]:
        """Images of Vega-Lite specifications, in their order; here if no process can draw."""
        self._more(len(specs) // MANY)
        if not self._pens:
            yield from map(_draw, specs)
            return
        idle: SimpleQueue[_Pen] = SimpleQueue()
        for pen in self._pens:
            idle.put(pen)

        def drawn(spec: Mapping[str, Any]) -> Images:
            pen = idle.get()
            try:
                return pen.draw(spec) or _draw(spec)
            finally:
                idle.put(pen)

        with ThreadPoolExecutor(len(self._pens)) as threads:
            yield from threads.map(drawn, specs)

    def _more(self, wanted: int) -> None:
        while len(self._pens) < min(wanted, self._spare):
            self._pens.append(_Pen())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for pen in self._pens:
            pen.end()


class _Pen:
    """A process that draws; None from one that has failed."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def draw(self, spec: Mapping[str, Any]) -> Images | None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            _send(self._process.stdin, json.dumps(spec).encode())
            svg, png = _receive(self._process.stdout), _receive(self._process.stdout)
        except BrokenPipeError:
            return None
        return None if svg is None or png is None else Images(svg, png)

    def end(self) -> None:
        self._process.kill()
        with suppress(BrokenPipeError):
            self._process.communicate()


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
    _draw(_FIRST)
    while (content := _receive(sys.stdin.buffer)) is not None:
        for image in _draw(json.loads(content)):
            _send(sys.stdout.buffer, image)


if __name__ == "__main__":
    main()
