from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from culvert.bundle.signature import signer
from culvert.bundle.write import bundle
from culvert.errors import UsageError
from tests.cli import Cli
from tests.compare.runs import write_run


@pytest.fixture
def key(tmp_path: Path) -> Path:
    path = tmp_path / "key"
    words = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)]
    subprocess.run(words, check=True, timeout=30)
    return path


def allowed(key: Path, name: str = "ann@example.org") -> Path:
    path = key.with_name("allowed")
    path.write_text(f"{name} {key.with_suffix('.pub').read_text()}")
    return path


def test_a_bundle_is_signed_and_its_author_named(key: Path, tmp_path: Path, say: Cli) -> None:
    run = write_run(tmp_path / "run", {"none": [9e8]})
    target = tmp_path / "a.zip"
    said = say("bundle", str(run), "--out", str(target), "--sign", str(key))
    assert (said.code, f"signed: {target}.sig" in said.out.replace("\n", "")) == (0, True), said.err
    good = say("verify", str(target), "--allowed-signers", str(allowed(key)))
    assert (good.code, "signed by ann@example.org" in good.out) == (0, True), good.err
    assert "not checked" in say("verify", str(target)).out
    key.with_name("allowed").write_text("")
    nobody = say("verify", str(target), "--allowed-signers", str(key.with_name("allowed")))
    nobody.refused(2, "no key in")


def test_what_is_not_signed_or_changed_is_refused(key: Path, tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", {"none": [9e8]})
    target = bundle(run, tmp_path / "a.zip", key).path
    assert signer(target, allowed(key)) == "ann@example.org"
    target.write_bytes(target.read_bytes() + b"x")
    with pytest.raises(UsageError, match=r"does not match this file: .*incorrect signature"):
        signer(target, allowed(key))
    with pytest.raises(UsageError, match=r"it has no signature b\.zip\.sig"):
        signer(bundle(run, tmp_path / "b.zip").path, allowed(key))
    with pytest.raises(UsageError, match="cannot sign with it"):
        bundle(run, tmp_path / "c.zip", allowed(key))
    assert not (tmp_path / "c.zip").exists()
