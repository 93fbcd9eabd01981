"""Where a lab cannot be made, it says so and makes nothing."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from culvert.errors import NotPossible
from culvert.labs.netns.lab import NetnsLab
from culvert.labs.netns.limits import check
from culvert.runid import RUN_ID, new_run_id
from culvert.topology.ip import IpVersion
from culvert.topology.link.spec import LinkSpec
from culvert.topology.spec import LabSpec

NOBODY = 65534
PROGRAM = """
import os
from culvert.errors import NotPossible
from culvert.topology.spec import LabSpec
from culvert.labs.netns.lab import NetnsLab
{before}
try:
    NetnsLab("{run_id}", LabSpec()).open()
except NotPossible as error:
    print(error.what, error.why, error.remedy, sep=": ")
"""


def _attempt(before: str) -> str:
    program = PROGRAM.format(before=before, run_id=new_run_id())
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    return done.stdout


def test_a_link_too_small_for_ipv6_is_named() -> None:
    with pytest.raises(NotPossible, match=r"underlay of IPv6: a link has an MTU of 1260"):
        check(LabSpec(link=LinkSpec(mtu=1260), underlay=IpVersion.V6))


@pytest.mark.lab
def test_namespaces_without_root_name_sudo() -> None:
    assert "needs root, or a user namespace: run it with sudo" in _attempt(f"os.setuid({NOBODY})")


@pytest.mark.lab
def test_root_without_its_capabilities() -> None:
    """As in a container: user 0, but the kernel says no."""
    drop = "import ctypes; libc = ctypes.CDLL(None); libc.unshare(0x10000000)"
    assert "--privileged" in _attempt(f"{drop}; os.geteuid = lambda: 0")


@pytest.mark.lab
def test_without_the_probe(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CULVERT_TOOLS", raising=False)
    made = NetnsLab(new_run_id(), LabSpec())
    with pytest.raises(NotPossible, match="culvert-probe"):
        made.open()
    assert not made.a.netns_path.exists()


def test_new_run_ids_are_run_ids() -> None:
    made = {new_run_id() for _ in range(100)}
    assert all(re.fullmatch(RUN_ID, run_id) for run_id in made)
    assert len(made) > 90
