"""How far work on many things is: a bar on a terminal, else a line every few seconds."""

from __future__ import annotations

import threading
from typing import Self

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from culvert.console import err

LINE_S = 5.0


class Counter:
    """A context manager, thread-safe. Written to standard error, the first line only after
    ``LINE_S``: what is quick says nothing."""

    def __init__(self, what: str, total: int) -> None:
        self._what = what
        self._total = total
        self._over = threading.Event()
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=err,
            transient=True,
            disable=not err.is_screen,
        )
        self._task = self._bar.add_task(what, total=total)

    def one_more(self) -> None:
        """One of them is done."""
        self._bar.advance(self._task)

    def __enter__(self) -> Self:
        self._bar.start()
        if not err.is_screen:
            threading.Thread(target=self._print, name="counter", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._bar.stop()

    def _print(self) -> None:
        while not self._over.wait(LINE_S):
            done = self._bar.tasks[self._task].completed
            err.print(f"{self._what}: {done:g} of {self._total}", markup=False)
