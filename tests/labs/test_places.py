"""The places of a run, while other runs begin and end."""

from __future__ import annotations

from pathlib import Path
from threading import Event, Thread

import pytest

from culvert.labs.namespace import places

RUN, LINK = "abc123", "a.namespace"


def test_a_run_that_ends_meanwhile_has_no_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "RUNS", tmp_path)
    directory = places.run_directory(RUN)
    done = Event()

    def begin_and_end() -> None:
        while not done.is_set():
            directory.mkdir()
            directory.rmdir()

    ending = Thread(target=begin_and_end)
    ending.start()
    try:
        found = [places.links_of(RUN, ".namespace") for _ in range(5000)]
    finally:
        done.set()
        ending.join()
    assert not any(found)


def test_links_with_that_ending(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "RUNS", tmp_path)
    places.run_directory(RUN).mkdir()
    for name in (LINK, "a.process"):
        (places.run_directory(RUN) / name).symlink_to("1")
    assert [link.name for link in places.links_of(RUN, ".namespace")] == [LINK]
