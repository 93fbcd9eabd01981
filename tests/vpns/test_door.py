"""What a third party's driver does in a call: late, endless, large, or raising anything."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from functools import cached_property
from typing import Any

import pytest

from culvert.errors import MOST_TEXT, CulvertError, DriverError, NotPossible
from culvert.labs.this_machine import ThisMachine
from culvert.vpns import door
from culvert.vpns.base import Vpn
from culvert.vpns.door import behind_door
from culvert.vpns.none import NoVpn
from culvert.vpns.variant import Missing, Variant
from culvert.waiting import wait_until

HERE = ThisMachine()


class Silent(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


class Silenced(NotPossible):
    """A CulvertError of the driver's own whose words raise."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


class Strange(NoVpn):
    name = "strange"
    variants = (Variant("default", "of a stranger"),)
    does: Callable[[], Any] = staticmethod(lambda: "1.0")
    looked = 0

    def version(self, host: Any) -> Any:
        del host
        return type(self).does()

    def missing(self, host: Any) -> Any:
        yield Missing(self.version(host), "x" * 10**6)

    @cached_property
    def watchers(self) -> int:  # type: ignore[override]
        self.looked += 1
        return 7

    @property
    def no_initiation(self) -> str:  # type: ignore[override]
        return "no " * 10**6


def strange(does: Callable[[], Any]) -> Vpn:
    class Stranger(Strange):
        pass

    Stranger.does = staticmethod(does)
    return behind_door(Stranger)(Strange.variants[0])


def refused(does: Callable[[], Any]) -> DriverError:
    with pytest.raises(DriverError) as caught:
        strange(does).version(HERE)
    error = caught.value
    assert error.what == "the driver of strange/default"
    assert error.remedy == "correct the driver; then: culvert vpns check strange/default"
    assert len(str(error)) < MOST_TEXT + 100
    return error


def spins() -> None:
    while True:
        pass


def catches_everything() -> None:
    for _ in range(3):
        try:
            time.sleep(60)
        except BaseException:
            continue


@pytest.mark.parametrize(
    "does",
    [
        lambda: time.sleep(60),
        spins,
        lambda: threading.Event().wait(60),
        catches_everything,
    ],
)
def test_a_late_call_is_an_error(monkeypatch: pytest.MonkeyPatch, does: Callable[[], Any]) -> None:
    monkeypatch.setattr(door, "ASKED_S", 0.05)
    assert refused(does).why == "version() did not end within 0.05 s"


def test_a_late_thread_ends_at_its_next_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(door, "ASKED_S", 0.05)
    refused(spins)

    def over() -> bool:
        return not any(each.name == "driver-version()" and _spins(each) for each in _threads())

    wait_until(over, what="the driver's thread had ended", deadline_s=30)


def _threads() -> list[threading.Thread]:
    return threading.enumerate()


def _spins(thread: threading.Thread) -> bool:
    frame = sys._current_frames().get(thread.ident or 0)
    return frame is not None and frame.f_code is spins.__code__


def raises(error: BaseException) -> Callable[[], None]:
    def do() -> None:
        raise error

    return do


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ValueError("x" * 10**7), "ValueError: xxx"),
        (Silent(), "Silent: its text raises RuntimeError"),
        (Silenced("a", "b", "c"), "Silenced: its text raises RuntimeError"),
        (SystemExit("over"), "SystemExit: over"),
        (KeyboardInterrupt(), "KeyboardInterrupt"),
        (GeneratorExit(), "GeneratorExit"),
        (BaseException("base"), "BaseException: base"),
        (StopIteration(), "StopIteration"),
        (RecursionError("deep"), "RecursionError: deep"),
    ],
)
def test_whatever_it_raises_is_its_error(error: BaseException, words: str) -> None:
    found = refused(raises(error))
    assert found.why.startswith(f"version() raised {words}")
    assert f"raised at {__file__}:" in found.why
    assert found.__cause__ is error


def test_its_own_errors_are_passed_on() -> None:
    with pytest.raises(NotPossible, match="no kernel module"):
        strange(raises(NotPossible("a VPN", "no kernel module", "modprobe it"))).version(HERE)
    with pytest.raises(CulvertError):
        strange(raises(CulvertError("a", "b", "c"))).version(HERE)


def test_its_texts_have_a_bound() -> None:
    vpn = strange(lambda: "1." * 25_000_000)
    assert len(vpn.version(HERE)) <= MOST_TEXT + 1
    (missing,) = vpn.missing(HERE)
    assert max(len(missing.what), len(missing.remedy)) <= MOST_TEXT + 1
    assert len(vpn.no_initiation) <= MOST_TEXT + 1


def test_properties_stay_what_they_are() -> None:
    vpn = strange(lambda: "1.0")
    assert (vpn.watchers, vpn.watchers) == (7, 7)
    assert vars(vpn)["looked"] == 1
    assert isinstance(vpn, Strange)
    assert vpn.version(HERE) == "1.0"


def test_drivers_of_culvert_have_no_door() -> None:
    assert behind_door(NoVpn) is NoVpn
