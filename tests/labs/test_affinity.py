from __future__ import annotations

from pathlib import Path

import pytest

from culvert.errors import NotPossible
from culvert.labs.cpu import affinity
from culvert.labs.guest import VARIABLE


def irq(
    root: Path, number: int, allowed: str, taken: str | None = None, name: str = "eth0"
) -> Path:
    folder = root / str(number)
    folder.mkdir()
    if name:
        (folder / name).mkdir()
    (folder / "smp_affinity_list").write_text(f"{allowed}\n")
    if taken is not None:
        (folder / "effective_affinity_list").write_text(f"{taken}\n")
    return folder / "smp_affinity_list"


def test_a_kernel_that_cannot_say(tmp_path: Path) -> None:
    (tmp_path / "1").mkdir()
    with pytest.raises(NotPossible, match="has no"):
        affinity.pin([0], tmp_path)


def test_on_a_machine_they_are_looked_at_and_never_moved(tmp_path: Path) -> None:
    file = irq(tmp_path, 24, "0-3", taken="0")
    irq(tmp_path, 25, "1", name="")  # nobody handles it
    assert affinity.pin([0], tmp_path) == {}
    with pytest.raises(NotPossible, match=r"1 of 1 .* such as 24 \(eth0\)") as told:
        affinity.pin([1, 2], tmp_path)
    assert "echo 1,2 | sudo tee" in told.value.remedy
    assert file.read_text() == "0-3\n"


def test_without_the_effective_one_all_that_may_take_it_count(tmp_path: Path) -> None:
    irq(tmp_path, 24, "0-1")
    with pytest.raises(NotPossible):
        affinity.pin([0], tmp_path)
    assert affinity.pin([0, 1], tmp_path) == {}


def test_in_a_guest_they_are_moved_and_moved_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = '{"hypervisor": "kvm", "kernel": "7", "not_comparable": ""}'
    monkeypatch.setenv(VARIABLE, told)
    file = irq(tmp_path, 24, "0-3")
    before = affinity.pin([2], tmp_path)
    assert file.read_text() == "2"
    affinity.restore(before)
    assert file.read_text() == "0-3"
    stuck = irq(tmp_path, 25, "0-3", taken="1", name="timer")
    with pytest.raises(NotPossible, match=r"25 \(timer\)"):
        affinity.pin([2], tmp_path)
    assert {file.read_text(), stuck.read_text()} == {"0-3"}
