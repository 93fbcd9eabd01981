"""The import of an archive by ctr."""

from __future__ import annotations

from pathlib import Path

import pytest

from culvert.errors import LabError, NotPossible
from culvert.labs.kubernetes.image import import_archive


def ctr(folder: Path, script: str) -> None:
    """A program of that name."""
    path = folder / "ctr"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


@pytest.fixture(autouse=True)
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))


def test_it_is_imported_where_the_kubelet_looks(tmp_path: Path) -> None:
    ctr(tmp_path, f'printf "%s|" "$@" > {tmp_path}/words')
    import_archive(Path("a file.tar"))
    assert (tmp_path / "words").read_text() == "-n|k8s.io|images|import|a file.tar|"


def test_without_ctr_it_is_not_possible(tmp_path: Path) -> None:
    with pytest.raises(NotPossible, match="ctr, the command of containerd, is missing") as error:
        import_archive(tmp_path / "x.tar")
    assert f"skopeo copy oci-archive:{tmp_path}/x.tar docker://" in error.value.remedy


def test_its_error_is_the_reason(tmp_path: Path) -> None:
    ctr(tmp_path, "echo 'no socket' >&2; exit 1")
    with pytest.raises(LabError, match=r"x\.tar: no socket"):
        import_archive(tmp_path / "x.tar")
    ctr(tmp_path, "exit 7")
    with pytest.raises(LabError, match="exit code 7"):
        import_archive(tmp_path / "x.tar")
