"""``culvert features``: which VPNs and tests are chosen."""

from __future__ import annotations

import pytest

from culvert.commands.actions import features as command
from culvert.errors import UsageError
from culvert.features.verify.run import TESTS


def test_a_name_without_a_variant_is_all_its_variants() -> None:
    found = [str(one) for one in command._variants(["wireguard", "wireguard/go"])]
    assert found[0].startswith("wireguard/")
    assert found.count("wireguard/go") == 1
    assert len(found) > 1


def test_a_row_is_found_by_a_variant() -> None:
    (row,) = command.rows(["wireguard/go"])
    assert row.name == "wireguard"
    assert {one.name for one in command.rows([])} >= {"nebula", "mistborn", "openvpn"}
    assert "none" not in {one.name for one in command.rows([])}


@pytest.mark.parametrize(
    ("names", "tests", "why"),
    [
        (["wireguard"], ["direct"], "unknown"),
        ([], [], "needs a VPN"),
        (["wireguard/gone"], [], "gone"),
    ],
)
def test_what_cannot_be_verified(names: list[str], tests: list[str], why: str) -> None:
    with pytest.raises(UsageError, match=why):
        command.verify(names, tests)


def test_an_unknown_vpn_has_similar_names() -> None:
    with pytest.raises(UsageError, match="nebular") as caught:
        command.rows(["nebular"])
    assert "nebula" in caught.value.remedy


def test_tests_are_found_by_name() -> None:
    assert [command._test(test.name) for test in TESTS] == list(TESTS)
