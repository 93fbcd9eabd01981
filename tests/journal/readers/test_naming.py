from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from culvert.errors import UsageError
from culvert.journal.readers.naming import MOST_CHARACTERS, Naming, cleaned


def ids(*names: str, vpn: tuple[str, ...] = (), baseline: str = "") -> dict[str, str]:
    return Naming.parse(vpn, baseline).resolve(names)


def test_the_data_s_own_names_without_their_number() -> None:
    assert ids("31-netbird-direct", "02_x", "42") == {
        "31-netbird-direct": "netbird-direct",
        "02_x": "x",
        "42": "42",
    }


def test_the_first_bare_link_is_the_baseline_and_others_are_told_apart() -> None:
    found = ids("11-native-mtu1230", "12-native-mtu1450", "nativeish", "wg")
    assert list(found.values()) == ["none", "none/native-mtu1450", "nativeish", "wg"]


def test_another_name_can_be_the_baseline() -> None:
    names = ("11-native-mtu1230", "12-native-mtu1450", "wg")
    for wanted in ("native-mtu1450", "12-native-mtu1450"):
        found = ids(*names, baseline=wanted)
        assert list(found.values()) == ["none/native-mtu1230", "none", "wg"]
    assert ids("wg", "zt", baseline="zt") == {"wg": "wg", "zt": "none"}


def test_a_none_of_the_data_is_the_baseline() -> None:
    assert list(ids("none", "native").values()) == ["none", "none/native"]


def test_ids_of_the_user() -> None:
    assert ids("a", "b", vpn=("wireguard/go",)) == {"a": "wireguard/go", "b": "wireguard/go"}
    found = ids("1-a", "2-native", "b", vpn=("a=wireguard/go", "native=none"))
    assert list(found.values()) == ["wireguard/go", "none", "b"]


@pytest.mark.parametrize(
    ("vpn", "baseline"),
    [
        (("x=y",), ""),
        ((), "x"),
        (("a b",), ""),
        (("a=",), ""),
        (("=a",), ""),
        (("one", "two"), ""),
        (("one", "a=two"), ""),
        (("",), ""),
    ],
)
def test_contradictory_names_are_refused(vpn: tuple[str, ...], baseline: str) -> None:
    with pytest.raises(UsageError):
        ids("a", "b", vpn=vpn, baseline=baseline)


@given(st.lists(st.text(), min_size=1))
def test_every_name_becomes_an_id(names: list[str]) -> None:
    for vpn in Naming().resolve(names).values():
        assert vpn.removeprefix("none/") == cleaned(vpn.removeprefix("none/"))
        assert 0 < len(vpn) <= MOST_CHARACTERS + len("none/")
