"""A request of the command line that cannot be met."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli import culvert


def test_an_unusable_kubeconfig_leaves_no_journal(tmp_path: Path) -> None:
    pytest.importorskip("kubernetes", reason="pip install 'culvert[kubernetes]'")
    out = tmp_path / "out"
    kubeconfig = tmp_path / "missing"
    done = culvert(
        *("run", "pods", "--lab", "kubernetes"), "--out", out, "--kubeconfig", kubeconfig
    )
    done.refused(2, "the file does not exist")
    assert not out.exists()
