"""Rules that all drivers keep, read from the registry."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest

from culvert.install import roles
from culvert.vpns import registry
from culvert.vpns.base import Vpn
from culvert.vpns.variant import KEPT_RELAYED_BY, OWN_SWITCH
from tests.here import HERE

from .tunnels import driver

DRIVERS = registry.installed().drivers
MOST_LINES = 200


@pytest.mark.parametrize("name", sorted(DRIVERS))
def test_a_driver_is_short(name: str) -> None:
    file = Path(inspect.getfile(DRIVERS[name]))
    assert len(file.read_text().splitlines()) <= MOST_LINES


@pytest.mark.parametrize("word", sorted(map(str, registry.all_variants())))
def test_exactly_a_variant_that_is_kept_relayed_names_what_keeps_it(word: str) -> None:
    variant = driver(word).variant
    kept = variant.facts.get(KEPT_RELAYED_BY, "")
    assert bool(kept) == ("relay" in variant.name.split("-"))
    if kept:
        assert kept.startswith(OWN_SWITCH)


@pytest.mark.parametrize(
    ("word", "program"), [("zerotier/tcp-relay", "tcp-proxy"), ("netmaker", "netclient")]
)
def test_a_program_that_no_installation_provides_has_another_remedy(
    word: str, program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = type(HERE).find

    def without(host: Any, name: str) -> str | None:
        return None if name == program else found(host, name) or f"/bin/{name}"

    monkeypatch.setattr(type(HERE), "find", without)
    vpn: Vpn = driver(word)
    (lack,) = [each for each in vpn.missing(HERE) if each.what == program]
    assert not lack.installable
    assert lack.remedy == f"put {program} on PATH: see docs/vendor-meshes.md"
    unfinished, notes = roles._missing([vpn])
    assert not any(program in each for each in unfinished)
    assert f"{word} needs {program} too: {lack.remedy}" in notes
