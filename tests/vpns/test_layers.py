"""What drivers import: authoring, as a stranger's does, and not each other."""

from __future__ import annotations

import inspect
from pathlib import Path

import grimp
import pytest

from culvert.vpns import registry

OF_SEVERAL = {"ipsec", "kernel_device", "parts", "wireguard"}
"""What drivers are made of; netbird, netmaker and innernet bring up WireGuard's devices."""
MAY_IMPORT = OF_SEVERAL | {"authoring"}


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


@pytest.mark.parametrize("driver", sorted(DRIVERS))
def test_a_driver_imports_what_a_strangers_does_and_shared_parts(
    imported: dict[str, set[str]], driver: str
) -> None:
    assert imported[driver] <= MAY_IMPORT


@pytest.mark.parametrize("name", sorted(registry.installed().drivers))
def test_a_driver_is_read_in_a_few_screens(name: str) -> None:
    path = inspect.getsourcefile(registry.installed().driver(name))
    assert path
    assert len(Path(path).read_text().splitlines()) <= 200


def test_what_is_no_driver_imports_none(imported: dict[str, set[str]]) -> None:
    assert "wireguard" in DRIVERS
    assert {"base", "registry", "contract"} <= imported.keys() - DRIVERS
    for name in imported.keys() - DRIVERS:
        assert not imported[name] & DRIVERS, name
