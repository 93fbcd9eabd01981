"""Figures as SVG and PNG, drawn by separate processes beside this one.

Drawing one takes a tenth of a second and holds Python's global lock, so threads do not help; the
first takes longest, because it loads the libraries. ``Drawing`` starts a process at once, which
loads them while the run is still being read, and more if there are many figures. A figure is drawn
as soon as it is there, while others are still being made.
``python -P -m culvert.report.html.drawing`` is such a process: it reads specifications from
standard input and writes images to standard output, each preceded by its length.
"""

from __future__ import annotations

import json
import os
import re
import struct
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from queue import SimpleQueue
from typing import IO, Any, NamedTuple, Self

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
        processors = os.cpu_count() or 1
        self._most = min(processors, MOST_PROCESSES) if processors > 1 else 0
        self._pens: list[_Pen] = []
        self._idle: SimpleQueue[_Pen] = SimpleQueue()
        self._begun = 0
        self._threads = ThreadPoolExecutor(max(1, self._most))
        self._more(1)

    def begin(self, spec: Mapping[str, Any]) -> Future[Images]:
        """Images of a Vega-Lite specification; drawn in this process if no other one can."""
        self._begun += 1
        self._more(self._begun // MANY)
        return self._threads.submit(self._drawn if self._pens else _draw, spec)

    def _drawn(self, spec: Mapping[str, Any]) -> Images:
        pen = self._idle.get()
        try:
            return pen.draw(spec) or _draw(spec)
        finally:
            self._idle.put(pen)

    def _more(self, wanted: int) -> None:
        while len(self._pens) < min(wanted, self._most):
            self._pens.append(_Pen())
            self._idle.put(self._pens[-1])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        for pen in self._pens:
            pen.end()
        self._threads.shutdown()


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
    import vl_convert  # noqa: PLC0415 - a process that draws nothing starts sooner without it

    vega = vl_convert.vegalite_to_vega(dict(spec))
    svg = vl_convert.vega_to_svg(vega, allowed_base_urls=[])
    svg = _numbered_alone(svg)
    return Images(svg.encode(), vl_convert.svg_to_png(svg, scale=2))


def _numbered_alone(svg: str) -> str:
    """Clip paths numbered from 1: Vega counts on over all figures that a process draws."""
    numbers = {number: place for place, number in enumerate(_DEFINED.findall(svg), 1)}
    return _CLIP.sub(lambda one: f"{one[1]}{numbers.get(one[2], one[2])}", svg)


_DEFINED = re.compile(r'<clipPath id="clip(\d+)"')
_CLIP = re.compile(r'(<clipPath id="clip|clip-path="url\(#clip)(\d+)')


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
