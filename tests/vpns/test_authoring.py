"""The face of Culvert for authors of drivers: one module, a package from templates, a reference."""

from __future__ import annotations

import ast
import inspect
import pydoc
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from culvert.errors import UsageError
from culvert.vpns import authoring, registry
from culvert.vpns.contract.package import install_command, write_package
from tests.docs.tables import ROOT

NAMES = [
    *("DIRECT", "LEAVE_OUT", "ONLY_IPV4", "SEE_LOG", "TUNNEL", "AssigningMeshVpn"),
    *(
        "Capability",
        "Carried",
        "Completed",
        "CountingRoutes",
        "DataCipher",
        "DataPath",
        "Dropping",
        "Endpoint",
        "Ends",
    ),
    *("Enforcing", "FullTunnel", "Host", "Lab", "LabError", "LimitingMembers", "LinkState"),
    "ListingRoutes",
    *("MeshVpn", "Missing", "Node", "NotPossible", "OrderingMembers", "OuterFlow"),
    *("OuterMessage", "OuterPacket", "PairingMembers", "Path", "Permit", "Policy", "Ports"),
    *("Process", "ProgramEnded", "Protocol", "Registering", "Rekeying", "Resuming", "Role"),
    *("Route", "RouteCount", "Serving", "TunDevice", "TunProgram", "TunnelVpn", "Variant"),
    *("Violation", "Vpn", "VpnError"),
    *("accepts", "check_here", "endpoint", "hang_up"),
    *("kept_relayed", "largest_inner", "listens"),
    *("log_tail", "missing_from_kernel", "missing_tun"),
    *("package_version", "path_of_device", "read_go_build", "underlay_address", "uri_host"),
    *("wait_for_device", "wait_for_fact", "wait_for_ping"),
]


def test_the_names_for_drivers_are_these() -> None:
    assert authoring.__all__ == NAMES
    assert all(hasattr(authoring, name) for name in NAMES)


def test_its_help_names_each_class_and_fits_a_few_screens() -> None:
    text = pydoc.plain(pydoc.render_doc(authoring))
    assert len(text.splitlines()) <= 150
    for name in NAMES:
        assert re.search(rf"\b{name}\b", text.partition("DATA\n")[0]), name
    assert "builtins" not in text


def test_each_name_is_documented() -> None:
    for name in NAMES:
        found = getattr(authoring, name)
        if inspect.isclass(found) or inspect.isfunction(found):
            assert inspect.getdoc(found), name


def imports(text: str) -> set[str]:
    return {
        node.module or ""
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("culvert.")
    }


def test_templates_and_documentation_import_nothing_else(tmp_path: Path) -> None:
    written = write_package("myvpn", tmp_path / "myvpn")
    texts = [path.read_text() for path in written if path.suffix == ".py"]
    page = (ROOT / "docs" / "add-a-vpn.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    assert len(blocks) > 3
    found = set().union(*map(imports, [*texts, *blocks]))
    # the class of another driver is where that driver is
    assert found == {"culvert.vpns.authoring", "culvert.vpns.wireguard.driver"}


def test_the_class_of_a_driver_is_where_the_documentation_says() -> None:
    for name, driver in registry.installed().drivers.items():
        module = f"culvert.vpns.{name.replace('-', '_')}"
        places = {module, f"{module}.driver"}
        if driver.__module__.startswith("culvert."):
            assert driver.__module__ in places


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("wireguard", "VPN that is installed"),
        ("none", "VPN that is installed"),
        ("packages", "Culvert's roles"),
        ("true", "Python keyword"),
        ("My VPN", "characters"),
        ("9p", "characters"),
        ("", "characters"),
    ],
)
def test_a_name_that_is_taken_is_refused(tmp_path: Path, name: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        write_package(name, tmp_path / "package")
    assert not (tmp_path / "package").exists()


@pytest.mark.parametrize("on_path", [True, False])
@pytest.mark.parametrize("fetched", [True, False])
@pytest.mark.parametrize("pip", [True, False])
def test_the_install_command_uses_what_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, on_path: bool, fetched: bool, pip: bool
) -> None:
    uv = tmp_path / ".tools" / "uv" / "bin" / "uv"
    if fetched:
        uv.parent.mkdir(parents=True)
        uv.touch(mode=0o755)
    monkeypatch.setattr(sys, "prefix", str(tmp_path / ".venv"))
    monkeypatch.setattr("shutil.which", lambda _: "/bin/uv" if on_path else None)
    monkeypatch.setattr("importlib.util.find_spec", lambda _: pip or None)
    command = install_command(Path("a b"))
    assert command.endswith("-e 'a b'")
    assert sys.executable in command
    uses_uv = on_path or fetched
    assert command.startswith("uv pip" if on_path else str(uv)) or not uses_uv
    assert ("ensurepip" in command) == (not uses_uv and not pip)


def test_the_printed_command_runs_here(tmp_path: Path) -> None:
    """Its program, at least: installing would change this environment."""
    first = shlex.split(install_command(tmp_path))
    words = [first[0], "-m", first[2]] if first[0] == sys.executable else first[:2]
    done = subprocess.run([*words, "--help"], capture_output=True, check=False)
    assert done.returncode == 0
