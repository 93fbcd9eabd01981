import pytest

from culvert.study.vpn_id import bare, family_of


@pytest.mark.parametrize(
    ("vpn", "family", "without"),
    [
        ("none", "none", True),
        ("none/mtu-1450", "none", True),
        ("nonesuch/fast", "nonesuch", False),
        ("wireguard/go+killswitch", "wireguard", False),
        ("ssh+pq", "ssh", False),
    ],
)
def test_an_id_names_its_family_and_links_without_a_vpn(
    vpn: str, family: str, without: bool
) -> None:
    assert (family_of(vpn), bare(vpn)) == (family, without)
