"""Measurements from entry points, also those of others."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from types import SimpleNamespace

import pytest

from culvert.errors import UsageError
from culvert.study import catalogue
from tests.study.dummies import Udp


class NoKind:
    Parameters = Udp.Parameters


class NoModel:
    kind = "x"
    Parameters = dict


def offer(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    entry = EntryPoint(name, value, catalogue.GROUP)
    monkeypatch.setattr(catalogue, "entry_points", lambda group: [entry])


def test_a_measurement_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    offer(monkeypatch, "udp", "tests.study.dummies:Udp")
    assert catalogue.installed_measurements() == {"udp": Udp}


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("tests.study.test_catalogue:NoKind", "kind of .* is missing or differs"),
        ("tests.study.test_catalogue:NoModel", "no pydantic model"),
        ("tests.study.nowhere:X", "cannot be loaded"),
        ("tests.study.dummies:Nothing", "cannot be loaded"),
    ],
)
def test_one_that_cannot_be_used_is_named(
    monkeypatch: pytest.MonkeyPatch, value: str, why: str
) -> None:
    offer(monkeypatch, "x", value)
    with pytest.raises(UsageError, match=why) as caught:
        catalogue.installed_measurements()
    assert value in caught.value.remedy


def test_the_package_to_update_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def load() -> object:
        raise RuntimeError("no")

    entry = SimpleNamespace(name="x", value="v:X", dist=SimpleNamespace(name="other"), load=load)
    monkeypatch.setattr(catalogue, "entry_points", lambda group: [entry])
    with pytest.raises(UsageError) as caught:
        catalogue.installed_measurements()
    assert "other" in caught.value.remedy
