"""What a driver can do while its VPN is up is decided by the methods that it has."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from culvert.errors import NotPossible
from culvert.topology.graph import Path
from culvert.vpns import registry
from culvert.vpns.abilities import dropping, enforcing, rekeying, resuming
from culvert.vpns.base import Vpn
from culvert.vpns.none import NoVpn
from culvert.vpns.policy import Policy

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
