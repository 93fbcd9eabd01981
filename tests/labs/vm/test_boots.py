"""A hypervisor on which no guest boots is skipped; it is tried once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from culvert import tools
from culvert.errors import CulvertError
from culvert.labs.vm import boots, build, guest, places
from culvert.labs.vm.choose import choose
from culvert.labs.vm.qemu import Kvm, Tcg
from culvert.labs.vm.uml import Uml


@pytest.fixture
def kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(places, "kernels", lambda: tmp_path / "kernels")
    path = tmp_path / "linux"
    path.write_text("#!/bin/sh\nprintf '\\033[2J\\033cstuck\\n'\nsleep 60\n")
    path.chmod(0o755)
    return path


def test_a_user_s_are_beside_root_s(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where root's are, an ordinary user can neither build one nor keep what a trial has shown."""
    root, own = tmp_path / "root", tmp_path / "cache/culvert/kernels"
    monkeypatch.delenv("CULVERT_TOOLS", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(tools, "MACHINES", root)
    for module in (places, tools):
        monkeypatch.setattr(module, "is_root", lambda: False)
    for made in (root / "kernels/uml-1", own / "uml-2"):
        made.mkdir(parents=True)
    assert places.kernels() == own
    assert places.found("uml-*") == [own / "uml-2", root / "kernels/uml-1"]


def test_a_kernel_that_cannot_be_kept_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "kernels", lambda: tmp_path / "kernels")
    with pytest.raises(FileNotFoundError):
        build._keep(tmp_path, "7.2", "linux-source-7.2 7.2.1-1", 1.0)
    assert list((tmp_path / "kernels").iterdir()) == []


def test_what_boots_nothing_is_told_with_its_last_words(
    kernel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(boots, "DEADLINE_S", 0.5)
    assert (
        boots.refusal(Uml(kernel), [kernel])
        == "did not boot within 0.5 s; its console shows: stuck"
    )


def test_it_is_tried_again_only_when_something_has_changed(
    kernel: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[str] = []

    def run(*_: object, **__: object) -> int:
        tried.append("once")
        raise CulvertError("the guest", "hangs", "take another")

    monkeypatch.setattr(guest, "run", run)
    assert [boots.refusal(Uml(kernel), [kernel]) for _ in range(2)] == ["hangs", "hangs"]
    assert len(tried) == 1
    kernel.write_text("another")
    monkeypatch.setattr(guest, "run", lambda *_, **__: 0)
    assert boots.refusal(Uml(kernel), [kernel]) is None
    monkeypatch.setattr(guest, "run", run)
    assert boots.refusal(Uml(kernel), [kernel]) is None
    (places.kernels() / "boots-uml.json").write_text("{broken")
    assert boots.refusal(Uml(kernel), [kernel]) == "hangs"


def test_the_next_hypervisor_is_taken_and_it_is_said_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modules = tmp_path / "lib/modules/7.0"
    modules.mkdir(parents=True)
    (modules / "vmlinuz").touch()
    said: list[str] = []
    for hypervisor in (Kvm, Tcg):
        monkeypatch.setattr(hypervisor, "missing", lambda self: None)
    monkeypatch.setattr(Kvm, "refusal", lambda self: "hangs")
    assert isinstance(choose(None, tmp_path, said.append), Tcg)
    assert said == ["kvm is skipped, no guest boots on it here: hangs"]
    # Who asks for it gets it, and the error when it does not boot.
    assert isinstance(choose("kvm", tmp_path, said.append), Kvm)
    monkeypatch.setattr(Kvm, "refusal", lambda self: None)
    assert isinstance(choose(None, tmp_path, said.append), Kvm)
    assert len(said) == 1


def test_without_a_kernel_there_is_nothing_to_try(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: Any) -> str:
        pytest.fail("a hypervisor that lacks something was tried")

    monkeypatch.setattr(Kvm, "refusal", never)
    monkeypatch.setattr(Kvm, "missing", lambda self: "no kernel was fetched yet: culvert vm build")
    monkeypatch.setattr(Uml, "missing", lambda self: None)
    assert isinstance(choose(), Uml)
