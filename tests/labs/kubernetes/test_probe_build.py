"""The build of the embedded cluster makes the probe of its pods too."""

from __future__ import annotations

from pathlib import Path

import pytest

from culvert.errors import NotPossible
from culvert.labs.kubernetes.embedded.programs import build


def test_with_the_sources_it_is_built_into_the_tools(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    steps: list[list[str]] = []
    monkeypatch.setenv("CULVERT_TOOLS", str(tmp_path))
    monkeypatch.setattr(build, "run_step", lambda argv, *_, **__: steps.append(list(argv)))
    monkeypatch.setattr("shutil.which", lambda _: "/usr/bin/cargo")
    build.build_probe(lambda _: None)
    assert steps[0][0] == "make"
    assert steps[0][3:] == ["probe-static", f"TOOLS={tmp_path}"]


def test_without_cargo_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda _: None)
    with pytest.raises(NotPossible, match="cargo"):
        build.build_probe(lambda _: None)


def test_without_sources_one_that_was_built_before_is_needed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def none(purpose: str) -> bytes:
        raise NotPossible(purpose, "there is none", "make probe-static")

    monkeypatch.setattr(build, "_CHECKOUT", tmp_path)
    monkeypatch.setattr(build, "static_probe", none)
    with pytest.raises(NotPossible, match="there is none"):
        build.build_probe(lambda _: None)
