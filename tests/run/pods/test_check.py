"""The exit code of ``culvert kubernetes check``, and requests that it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from culvert.errors import UsageError
from culvert.labs.kubernetes.kind import EMBEDDED, Kubernetes
from culvert.proof.cluster.judge import Protection, Verdict
from culvert.proof.cluster.seen import Marked
from culvert.run.pods.check import Proved, Summary
from culvert.topology.spec import Placement
from culvert.trial.check import Check
from tests.cli import culvert


def proved(wire: Protection | None, *, passed: bool = True) -> Proved:
    """One kind of traffic; None: it could not be looked at."""
    if wire is None:
        return Proved(Placement.TWO_NODES, None, (), "no second node", "add one")
    verdict = Verdict("pod to pod", wire, Marked(100, 100, 200))
    checks = (Check("as it should be", passed, "detail", "remedy", {}),)
    return Proved(Placement.TWO_NODES, verdict, checks)


FINE = proved(Protection.ENCRYPTED)
CLEAR = proved(Protection.CLEAR, passed=False)
UNSEEN = proved(Protection.UNSEEN, passed=False)
MISSED = proved(Protection.UNKNOWN, passed=False)
UNRECONCILED = proved(Protection.ENCRYPTED, passed=False)
NOT_LOOKED = proved(None)


@pytest.mark.parametrize(
    ("parts", "code"),
    [
        ((FINE, proved(Protection.NOT_LEAVING)), 0),
        ((FINE, CLEAR), 1),
        ((FINE, UNRECONCILED), 1),
        ((NOT_LOOKED, CLEAR, UNSEEN), 1),
        ((FINE, UNSEEN), 3),
        ((FINE, MISSED), 3),
        ((MISSED, CLEAR), 1),
        ((FINE, NOT_LOOKED), 3),
        ((NOT_LOOKED,), 3),
    ],
)
def test_clear_and_not_known_have_different_exit_codes(
    parts: tuple[Proved, ...], code: int
) -> None:
    summary = Summary(parts, 1.0)
    assert summary.exit_code == code
    assert summary.ok is (code == 0)


def test_what_is_not_known_is_so_in_json() -> None:
    assert [one.as_json()["known"] for one in (FINE, CLEAR, UNSEEN, NOT_LOOKED)] == [
        *(True, True),
        *(False, False),
    ]


def test_a_cluster_that_cannot_be_reached_is_not_a_clear_one(tmp_path: Path) -> None:
    pytest.importorskip("kubernetes", reason="pip install 'culvert[kubernetes]'")
    path = tmp_path / "kubeconfig"
    config = {
        "apiVersion": "v1", "kind": "Config", "current-context": "x",
        "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:9"}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "users": [{"name": "u", "user": {}}],
    }  # fmt: skip
    path.write_text(json.dumps(config))
    done = culvert("kubernetes", "check", "--kubeconfig", path)
    done.refused(3, "cannot be reached")
    culvert("kubernetes", "check", "--kubeconfig", tmp_path / "none").refused(2, "does not exist")


@pytest.mark.parametrize("option", ["from", "to", "namespace", "image", "context", "kubeconfig"])
def test_options_that_do_not_apply_are_refused(option: str) -> None:
    with pytest.raises(UsageError, match=f"--{option} does not apply"):
        Kubernetes({"cluster": EMBEDDED, "prove": True, option: "a"})


def test_a_run_refuses_them_before_it_makes_a_journal(tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = ("--lab", "kubernetes", "--cluster", "embedded", "--from", "a")
    culvert("run", "pods", *words, "--out", out).refused(2, "--from does not apply")
    assert not out.exists()
