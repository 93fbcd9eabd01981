"""Errors are a few lines, whatever somebody else wrote is quoted in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from culvert.errors import MOST_TEXT, MOST_WORD, CulvertError, ImpairmentError, UsageError
from culvert.labs.kubernetes.api.refusal import Http, NotAdmitted
from tests.cli import Cli


def test_a_long_value_is_quoted_by_its_ends() -> None:
    found = UsageError("x" * 10_000, "a " + "1" * 200_000 + "% is no share", "y " * 100_000)
    assert len(found.what) == MOST_WORD + 1
    assert found.why.startswith("a 111")
    assert found.why.endswith("111% is no share")
    assert "\u2026" in found.why
    assert len(found.remedy) == MOST_TEXT + 1
    assert str(found) == f"{found.what}: {found.why}"


def test_what_is_short_is_unchanged() -> None:
    path = "/" + "directory/" * 90
    assert UsageError(path, "why " * 100, "do").what == path


@pytest.mark.parametrize(
    "error",
    [
        ImpairmentError("delay", "it", "was late", "wait"),
        NotAdmitted("it", "was late", "wait", Http.FORBIDDEN, "pod"),
    ],
)
def test_another_reason_leaves_the_rest_of_an_error(error: CulvertError) -> None:
    found = error.because("was early")
    assert str(found) == "it: was early"
    assert str(error) == "it: was late"
    assert (type(found), vars(found) | {"why": "was late"}) == (type(error), vars(error))


@pytest.mark.parametrize("value", ['duration = "' + "1" * 100_000 + 's"', "k" * 50_000 + " = 1"])
def test_a_study_with_a_long_value_has_a_short_error(say: Cli, tmp_path: Path, value: str) -> None:
    study = tmp_path / "s.toml"
    study.write_text(f'name = "s"\nvpns = ["none"]\n[[measurement]]\nkind = "udp"\n{value}\n')
    said = say("study", "check", study)
    assert said.code == 2
    assert len(said.err) < 4 * MOST_WORD


def test_an_option_with_a_number_of_5000_digits_is_refused(say: Cli) -> None:
    said = say("up", "openvpn/aes-256-gcm+tun-mtu-" + "9" * 5000)
    assert said.code in (2, 3), said
    assert "tun-mtu between" in said.err
    assert "defect" not in said.err
