"""A call in a namespace that the kernel does not end."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from culvert.errors import DeadlineExceeded
from culvert.labs.namespace import thread
from tests.conftest import LabFactory

pytestmark = pytest.mark.lab


@pytest.fixture
def released(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Set at the end, so that the call ends."""
    monkeypatch.setattr(thread, "CALL_S", 1.0)
    event = threading.Event()
    yield event
    event.set()


def test_it_is_named_and_later_ones_do_not_wait(
    lab: LabFactory, released: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair = lab()
    namespace = pair.a.namespace
    with pytest.raises(DeadlineExceeded, match="within 1 s") as caught:
        namespace.netlink(lambda _: released.wait(60), "interface t0")
    assert caught.value.what == f"namespace {namespace.path.name}, interface t0"
    assert caught.value.remedy
    monkeypatch.setattr(thread, "CALL_S", 60.0)
    with pytest.raises(DeadlineExceeded, match="interface t0"):
        pair.a.run(["true"])
    assert pair.b.run(["true"]).returncode == 0
    released.set()


def test_one_that_ends_in_time_is_no_error(lab: LabFactory, released: threading.Event) -> None:
    pair = lab()
    threading.Timer(0.6, released.set).start()
    assert pair.a.inside(lambda: released.wait(60))
    assert pair.a.run(["true"]).returncode == 0
