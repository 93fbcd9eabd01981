"""What a driver can do while its VPN is up is decided by the methods that it has."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import pytest

from culvert.errors import NotPossible
from culvert.labs.netns.lab import NetnsLab
from culvert.labs.node import Node
from culvert.runid import new_run_id
from culvert.topology.graph import Path, Role
from culvert.topology.shapes import mesh, serving
from culvert.topology.spec import LabSpec
from culvert.vpns import registry
from culvert.vpns.abilities import (
    Policy,
    dropping,
    enforcing,
    enter,
    most_members,
    newcomers,
    pairs,
    rekeying,
    resuming,
    routes,
)
from culvert.vpns.base import Vpn
from culvert.vpns.lifecycle import bring_up, groups, serve_all
from culvert.vpns.none import NoVpn
from culvert.vpns.variant import DIRECT, Route

ABILITIES: dict[str, Callable[[Vpn], object]] = {
    "drop": dropping,
    "resume": resuming,
    "rekey": rekeying,
    "apply_policy": enforcing,
}


class Everything(NoVpn):
    """As drivers were written before the interfaces had names: with the methods alone."""

    no_policy = "has none"

    def rekey(self, path: Path) -> None: ...

    def apply_policy(self, policy: Policy) -> None: ...


@pytest.mark.parametrize("method", ABILITIES)
def test_a_driver_needs_the_method_and_no_base_class(method: str) -> None:
    vpn = Everything(NoVpn.variants[0])
    assert ABILITIES[method](vpn) is vpn


@pytest.mark.parametrize("word", ["none", "vxlan/plain", "wireguard/go", "nebula/aes", "netmaker"])
@pytest.mark.parametrize("method", ABILITIES)
def test_what_a_driver_lacks_is_refused_with_the_reason(word: str, method: str) -> None:
    vpn = registry.create(registry.parse(word))
    if hasattr(vpn, method):
        assert ABILITIES[method](vpn) is vpn
        return
    with pytest.raises(NotPossible) as caught:
        ABILITIES[method](vpn)
    assert caught.value.what == word
    assert caught.value.why
    assert caught.value.remedy == "leave this event out for this VPN"


def test_the_contract_has_no_method_that_only_refuses() -> None:
    assert not [method for method in ABILITIES if hasattr(Vpn, method)]


class Earlier(NoVpn):
    """Overrides what every VPN had before these were abilities."""

    def __init__(self) -> None:
        super().__init__(replace(NoVpn.variants[0], needs=(Role.CONTROL,)))
        self._lab = NetnsLab(new_run_id(), LabSpec(serving(mesh(3), self.needs)))
        self.life: list[str] = []

    def serve(self, server: Node) -> None:
        self.life.append(f"serve {server.name}")

    def join(self, member: Node) -> None:
        self.life.append(f"join {member.name}")

    def reach(self, path: Path) -> None:
        self.life.append(f"reach {path.source} {path.target}")

    def enter(self, node: Node) -> None:
        self.life.append(f"enter {node.name}")

    def register(self, member: Node) -> None:
        self.life.append(f"register {member.name}")

    def most_members(self) -> int | None:
        return 3

    @property
    def newcomers(self) -> Sequence[Node]:
        return self.lab.members[1:]

    @property
    def pairs(self) -> Sequence[Path]:
        return [Path("a", "b")]

    def routes(self, source: Node, targets: Sequence[Node]) -> Mapping[str, Route]:
        return {target.name: Route(source.name) for target in targets}


def planned(vpn: Vpn) -> Vpn:
    vpn._lab = NetnsLab(new_run_id(), LabSpec(mesh(3)))
    return vpn


@pytest.fixture
def earlier(monkeypatch: pytest.MonkeyPatch) -> Earlier:
    vpn = Earlier()
    names = {node.name: fake(node.name, node.role) for node in vpn.lab.spec.topology.nodes}
    monkeypatch.setattr(NetnsLab, "nodes", names)
    return vpn


def fake(name: str, role: Role) -> Node:
    return cast(Node, SimpleNamespace(name=name, role=role))


def test_what_a_driver_defines_is_used(earlier: Earlier) -> None:
    bring_up(earlier)
    enter(earlier, earlier.lab.b)
    assert earlier.life[:2] == ["serve control", "join a"]  # the newcomers find a
    assert {*earlier.life[2:-1]} == {"join b", "join c", "reach a b"}
    assert earlier.life[-1] == "enter b"
    assert most_members(earlier) == 3
    assert [node.name for node in newcomers(earlier)] == ["b", "c"]
    assert pairs(earlier) == [Path("a", "b")]
    assert routes(earlier, earlier.lab.a, [earlier.lab.b]) == {"b": Route("a")}


def test_a_source_that_a_measurement_starts_is_only_made_known(earlier: Earlier) -> None:
    bring_up(earlier, but=Path("a", "b"))
    assert earlier.life[-1] == "register a"
    assert not {"join a", "reach a b"} & {*earlier.life}


def test_what_a_driver_lacks_has_a_substitute(earlier: Earlier) -> None:
    vpn = planned(NoVpn(NoVpn.variants[0]))
    assert most_members(vpn) is None
    assert newcomers(vpn) == vpn.lab.members
    assert pairs(vpn) == [Path("a", "b"), Path("a", "c"), Path("b", "c")]
    assert routes(vpn, vpn.lab.a, [vpn.lab.b]) == {"b": DIRECT}
    assert groups(vpn, vpn.lab.members) == [[*vpn.lab.members]]


def test_servers_without_a_driver_for_them_are_refused(earlier: Earlier) -> None:
    vpn = NoVpn(earlier.variant)
    vpn._lab = earlier.lab
    with pytest.raises(NotPossible, match="does not use a control"):
        serve_all(vpn)
