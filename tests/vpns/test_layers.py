"""What drivers import: authoring, as a stranger's does, and not each other."""

from __future__ import annotations

import inspect
import tomllib
from pathlib import Path

import grimp
import pytest

from culvert.vpns import registry
from tests.docs.tables import ROOT

SHARED = {"authoring", "parts"}
OF_SEVERAL = {"ipsec", "kernel_device", "wireguard"}
"""What drivers are made of; netbird, netmaker and innernet bring up WireGuard's devices."""


def folder(module: str) -> str:
    return module.removeprefix("culvert.vpns.").partition(".")[0]


DRIVERS = {
    folder(driver.__module__)
    for driver in registry.installed().drivers.values()
    if driver.__module__.startswith("culvert.vpns.")
}


@pytest.fixture(scope="module")
def imported() -> dict[str, set[str]]:
    """The folders, or files, of vpns/ that each of them imports."""
    graph = grimp.build_graph("culvert", exclude_type_checking_imports=True)
    modules = {each for each in graph.modules if each.startswith("culvert.vpns.")}
    found: dict[str, set[str]] = {}
    for each in modules:
        others = {folder(one) for one in graph.find_modules_directly_imported_by(each) & modules}
        found.setdefault(folder(each), set()).update(others - {folder(each)})
    return found


@pytest.mark.parametrize("driver", sorted(DRIVERS | OF_SEVERAL))
def test_a_driver_imports_what_a_strangers_does_and_shared_parts(
    imported: dict[str, set[str]], driver: str
) -> None:
    assert imported[driver] <= SHARED | (set() if driver in OF_SEVERAL else OF_SEVERAL)


@pytest.mark.parametrize("name", sorted(registry.installed().drivers))
def test_a_driver_is_read_in_a_few_screens(name: str) -> None:
    path = inspect.getsourcefile(registry.installed().driver(name))
    assert path
    assert len(Path(path).read_text().splitlines()) <= 200


def test_what_is_no_driver_imports_none(imported: dict[str, set[str]]) -> None:
    assert "wireguard" in DRIVERS
    assert {"base", "registry", "contract"} <= imported.keys() - DRIVERS
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    (layers,) = (each["layers"] for each in settings["contracts"] if each["name"][:4] == "VPNs")
    assert imported.keys() - DRIVERS == {name for layer in layers for name in layer.split(" | ")}
    for name in imported.keys() - DRIVERS:
        assert not imported[name] & DRIVERS, name
