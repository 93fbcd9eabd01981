"""Figures as SVG and PNG, drawn by separate processes beside this one.

Drawing one takes a tenth of a second and holds Python's global lock, so threads do not help.
``Drawing`` starts two processes at once, and more if there are many figures and processors: one of
each pair makes SVG of specifications, for which it loads Vega while the run is still being read,
the other PNG of SVG. A figure is drawn as soon as it is there, while others are still being made.
``python -P -m culvert.report.html.drawing svg`` is such a process: it reads contents from standard
input and writes images to standard output, each preceded by its length.
"""

from __future__ import annotations

import json
import os
import re
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import suppress
from enum import Enum
from queue import SimpleQueue
from typing import IO, NamedTuple, Self

from culvert.errors import DeadlineExceeded
from culvert.json_text import read_json

MANY = 8
"""So many figures are worth the start of one more process."""
MOST_PROCESSES = 4
DRAW_S = 120
"""Longest time for a step of one figure, in seconds in which this process runs."""
_LENGTH = struct.Struct(">Q")


class Images(NamedTuple):
    """One figure."""

    svg: bytes
    png: bytes


def _svg_of(spec: bytes) -> bytes:
    """Of a Vega-Lite specification, as JSON."""
    import vl_convert  # noqa: PLC0415 - a process that draws nothing starts sooner without it

    vega = vl_convert.vegalite_to_vega(read_json(spec))
    return _numbered_alone(vl_convert.vega_to_svg(vega, allowed_base_urls=[])).encode()


def _png_of(svg: bytes) -> bytes:
    import vl_convert  # noqa: PLC0415 - as above

    return bytes(vl_convert.svg_to_png(svg.decode(), scale=2))


class _Step(Enum):
    """What a process does: Vega need not be loaded to make PNG of SVG."""

    SVG = "svg"
    PNG = "png"

    @property
    def draw(self) -> Callable[[bytes], bytes]:
        return _svg_of if self is _Step.SVG else _png_of

    @property
    def first(self) -> bytes:
        """A content that makes the process load its libraries and fonts."""
        return _FIRST_SPEC if self is _Step.SVG else _FIRST_SVG


_FIRST_SPEC = json.dumps(
    {
        "data": {"values": [{"x": 1}]},
        "mark": "text",
        "encoding": {"text": {"field": "x", "type": "quantitative"}},
    }
).encode()
_FIRST_SVG = (
    b'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><text y="9">x</text></svg>'
)


class Drawing:
    """A context manager; leaving it ends its processes. Nothing is fetched from a network."""

    def __init__(self) -> None:
        processors = os.cpu_count() or 1
        self._most = min(processors, MOST_PROCESSES) if processors > 1 else 0
        self._pens: list[_Pen] = []
        self._idle: dict[_Step, SimpleQueue[_Pen]] = {step: SimpleQueue() for step in _Step}
        self._begun = 0
        self._ended = False
        # One more than processes: a figure waits for its second step while the next has its first.
        self._threads = ThreadPoolExecutor(self._most + 1)
        self._more(len(_Step))

    def begin(self, spec: bytes, name: str = "") -> Future[Images]:
        """Images of a Vega-Lite specification in JSON; drawn in this process if no other can.

        ``name`` is that of the figure in DeadlineExceeded, if its process does not end it in time.
        """
        self._begun += 1
        self._more(len(_Step) + self._begun // MANY)
        return self._threads.submit(self._drawn, spec, name)

    def _drawn(self, spec: bytes, name: str) -> Images:
        svg = self._made(_Step.SVG, spec, name)
        return Images(svg, self._made(_Step.PNG, svg, name))

    def _made(self, step: _Step, content: bytes, name: str) -> bytes:
        if not self._pens:
            return step.draw(content)
        pen = self._idle[step].get()
        try:
            drawn = pen.draw(content, f"{step.value.upper()} of figure {name}")
            if drawn is None and self._ended:  # nobody waits for the figure
                raise CancelledError
            return drawn or step.draw(content)
        finally:
            self._idle[step].put(pen)

    def _more(self, wanted: int) -> None:
        while len(self._pens) < min(wanted, self._most):
            step = list(_Step)[len(self._pens) % len(_Step)]
            self._pens.append(_Pen(step))
            self._idle[step].put(self._pens[-1])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._ended = True
        self._threads.shutdown(wait=False, cancel_futures=True)
        for pen in self._pens:
            pen.end()
        self._threads.shutdown()


class _Pen:
    """A process that draws; None from one that has failed."""

    def __init__(self, step: _Step) -> None:
        self.step = step
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", __name__, step.value],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def draw(self, content: bytes, what: str) -> bytes | None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        done, late = threading.Event(), threading.Event()
        threading.Thread(target=self._watch, args=(done, late), daemon=True).start()
        try:
            _send(self._process.stdin, content)
            drawn = _receive(self._process.stdout)
        except BrokenPipeError:
            drawn = None
        finally:
            done.set()
        if drawn is None and late.is_set():
            raise DeadlineExceeded(
                what,
                f"the drawing process did not finish it within {DRAW_S} s",
                "see whether the machine is overloaded, or something stops its processes; "
                "then run `culvert report` again",
            )
        return drawn

    def _watch(self, done: threading.Event, late: threading.Event) -> None:
        for _ in range(DRAW_S):  # no clock: Ctrl-Z stops this process and the other
            if done.wait(1.0):
                return
        late.set()
        self._process.kill()

    def end(self) -> None:
        self._process.kill()
        with suppress(BrokenPipeError):
            self._process.communicate()


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
    step = _Step(sys.argv[1])
    step.draw(step.first)
    while (content := _receive(sys.stdin.buffer)) is not None:
        _send(sys.stdout.buffer, step.draw(content))


if __name__ == "__main__":
    main()
