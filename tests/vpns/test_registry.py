from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import culvert.vpns
from culvert.errors import UsageError, VpnError
from culvert.vpns import registry
from culvert.vpns.base import Vpn
from culvert.vpns.none import NoVpn
from culvert.vpns.registry import Registry, VpnId, load
from culvert.vpns.variant import Variant
from culvert.vpns.vxlan import Vxlan


class WithOptions(NoVpn):
    name = "dummy"
    variants = (Variant("fast", "one"), Variant("slow", "another"))
    options = {"tcp": "over TCP", "psk": "with a shared key"}  # noqa: RUF012


class RaisesAtOnce(NoVpn):
    name = "raises"
    variants = (Variant("x", "x"),)

    def __init__(self, variant: Variant, options: frozenset[str] = frozenset()) -> None:
        raise KeyError("licence")


class Unfinished(Vpn):
    name = "unfinished"
    summary = "abstract methods are left"
    variants = (Variant("x", "x"),)


class Misnamed(NoVpn):
    name = "other"


class Twice(NoVpn):
    name = "twice"
    variants = (Variant("same", "one"), Variant("same", "two"))


class BadWord(NoVpn):
    name = "badword"
    variants = (Variant("AES 256", "one"),)


class NoVariants(NoVpn):
    name = "novariants"
    variants = ()


class Timeless(NoVpn):
    name = "timeless"
    up_deadline_s = 0.0


class Verbose(NoVpn):
    name = "verbose"
    summary = "long " * 10**6


not_a_driver = object()


def point(name: str, value: str) -> EntryPoint:
    return EntryPoint(name, value, registry.GROUP)


def here(name: str, attribute: str) -> EntryPoint:
    return point(name, f"{__name__}:{attribute}")


@pytest.fixture
def drivers() -> Registry:
    return load(
        [
            point("none", "culvert.vpns.none:NoVpn"),
            point("vxlan", "culvert.vpns.vxlan:Vxlan"),
            here("dummy", "WithOptions"),
        ]
    )


def test_ours_are_installed() -> None:
    found = registry.installed().drivers
    assert found["none"] is NoVpn
    assert found["vxlan"] is Vxlan
    assert "wireguard" in found


def test_the_baseline_comes_first() -> None:
    ids = [str(vpn_id) for vpn_id in registry.all_variants()]
    assert ids[0] == "none"
    assert {"wireguard/go", "wireguard/go-debian", "vxlan/plain"} <= set(ids)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("none", VpnId("none", "none")),
        ("vxlan/plain", VpnId("vxlan", "plain")),
        ("dummy/fast", VpnId("dummy", "fast")),
        ("dummy/slow+tcp", VpnId("dummy", "slow", frozenset({"tcp"}))),
        ("dummy/slow+tcp+psk", VpnId("dummy", "slow", frozenset({"tcp", "psk"}))),
    ],
)
def test_an_id_is_parsed_into_vpn_variant_and_options(
    drivers: Registry, text: str, expected: VpnId
) -> None:
    assert drivers.parse(text) == expected


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ("vxlam/plain", 'did you mean "vxlan"?'),
        ("qqq", "known are dummy, none, vxlan"),
        ("dummy", "choose one of dummy/fast, dummy/slow"),
        ("dummy/fats", 'did you mean "fast"?'),
        ("dummy/fast+tpc", 'did you mean "tcp"?'),
        ("dummy/fast+", "known are psk, tcp"),
        ("none+tcp", "leave it out"),
        ("", "known are dummy, none, vxlan"),
        ("/fast", "known are dummy, none, vxlan"),
        ("dummy/", "known are fast, slow"),
    ],
)
def test_an_unknown_word_names_what_is_near(drivers: Registry, text: str, remedy: str) -> None:
    with pytest.raises(UsageError) as caught:
        drivers.parse(text)
    assert caught.value.remedy == remedy
    assert caught.value.exit_code == 2


@given(
    variant=st.sampled_from(["fast", "slow"]),
    options=st.frozensets(st.sampled_from(["tcp", "psk"])),
)
def test_what_is_written_is_read_and_created(variant: str, options: frozenset[str]) -> None:
    drivers = load([here("dummy", "WithOptions")])
    vpn_id = VpnId("dummy", variant, options)
    assert drivers.parse(str(vpn_id)) == vpn_id
    assert drivers.create(vpn_id).id == str(vpn_id)


@given(text=st.text(max_size=30))
def test_any_text_is_an_id_or_a_usage_error(text: str) -> None:
    drivers = load([here("dummy", "WithOptions")])
    try:
        vpn_id = drivers.parse(text)
    except UsageError:
        return
    assert drivers.create(vpn_id).variant.name == vpn_id.variant


def test_create_refuses_what_parse_refuses(drivers: Registry) -> None:
    with pytest.raises(UsageError):
        drivers.create(VpnId("dummy", "fast", frozenset({"nonsense"})))


@pytest.mark.parametrize(
    ("name", "entry", "why"),
    [
        (
            "gone",
            point("gone", "no_such_package_xyz:Vpn"),
            "import of its driver raised ModuleNot",
        ),
        (
            "gone",
            point("gone", "culvert.vpns.none:NoSuchClass"),
            "import of its driver raised Attrib",
        ),
        ("thing", here("thing", "not_a_driver"), "is not a subclass"),
        ("unfinished", here("unfinished", "Unfinished"), "it does not define configure, data_path"),
        ("misnamed", here("misnamed", "Misnamed"), "its name is 'other'"),
        ("twice", here("twice", "Twice"), "variant 'same' is defined twice"),
        ("badword", here("badword", "BadWord"), "'AES 256' has characters other than"),
        ("novariants", here("novariants", "NoVariants"), "variants is missing or empty"),
        ("timeless", here("timeless", "Timeless"), "up_deadline_s is not positive"),
        ("verbose", here("verbose", "Verbose"), "a summary is longer than 8000 characters"),
    ],
)
def test_a_broken_driver_spoils_only_itself(name: str, entry: EntryPoint, why: str) -> None:
    drivers = load([entry, point("none", "culvert.vpns.none:NoVpn")])
    assert list(drivers.drivers) == ["none"]
    assert drivers.parse("none") == VpnId("none", "none")
    with pytest.raises(VpnError) as caught:
        drivers.parse(f"{name}/x")
    assert why in str(caught.value)
    assert caught.value.remedy


def test_a_driver_that_cannot_be_created_names_its_line() -> None:
    drivers = load([here("raises", "RaisesAtOnce")])
    with pytest.raises(VpnError, match=r"KeyError: 'licence' \(raised at .*test_registry\.py:\d+"):
        drivers.create(drivers.parse("raises/x"))


def test_an_import_that_raises_names_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "raising_driver.py").write_text("import os\n\nos.nothing()\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(VpnError, match=r"raised at .*/raising_driver\.py:3"):
        load([point("gone", "raising_driver:Driver")]).driver("gone")


def test_a_file_in_its_folder_is_a_driver_without_being_registered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "of_one_file.py").write_text(
        "from culvert.vpns.none import NoVpn\n\n\nclass One(NoVpn):\n    name = 'of-one-file'\n"
    )
    (tmp_path / "broken_one.py").write_text("import os\n\nos.nothing()\n")
    monkeypatch.setattr("culvert.vpns.__path__", [*culvert.vpns.__path__, str(tmp_path)])
    found = load(registry.shipped())
    assert found.drivers["of-one-file"].__module__ == "culvert.vpns.of_one_file"
    assert {"none", "vxlan", "wireguard", "xfrm"} <= found.drivers.keys()
    assert found.broken.keys() == {"broken-one"}
    with pytest.raises(VpnError, match=r"raised at .*/broken_one\.py:3"):
        found.driver("broken-one")


def test_two_packages_cannot_provide_one_name() -> None:
    twice = [point("none", "culvert.vpns.none:NoVpn"), here("none", "WithOptions")]
    drivers = load(twice)
    assert drivers.drivers == {}
    assert "provided twice" in str(drivers.broken["none"])
