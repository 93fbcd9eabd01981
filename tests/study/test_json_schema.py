"""The schema for editors accepts what Culvert accepts, and the copy in docs/ is current."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from culvert.commands.actions.study import schema_text
from culvert.study.json_schema import json_schema
from culvert.study.shipped import shipped_studies
from culvert.vpns.registry import installed_catalogue

jsonschema = pytest.importorskip("jsonschema")
COPY = Path(__file__).parents[2] / "docs" / "study.schema.json"


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    return json_schema(installed_catalogue())


def mistakes(schema: dict[str, Any], toml: str) -> list[str]:
    validator = jsonschema.Draft202012Validator(schema)
    return [error.json_path for error in validator.iter_errors(tomllib.loads(toml))]


def references(part: object) -> Iterator[str]:
    if isinstance(part, dict):
        yield from (value for key, value in part.items() if key == "$ref")
        part = list(part.values())
    if isinstance(part, list):
        for each in part:
            yield from references(each)


def test_it_is_a_schema_and_whole(schema: dict[str, Any]) -> None:
    jsonschema.Draft202012Validator.check_schema(schema)
    assert {name.removeprefix("#/$defs/") for name in references(schema)} <= set(schema["$defs"])


def test_every_shipped_study_is_accepted(schema: dict[str, Any]) -> None:
    for name, path in shipped_studies().items():
        assert (name, mistakes(schema, path.read_text(encoding="utf-8"))) == (name, [])


HEAD = 'name = "s"\nvpns = ["none"]\n'


@pytest.mark.parametrize(
    ("more", "path"),
    [
        ('[[measurement]]\nkind = "tcp"\nduratoin = "1s"\n', "$.measurement[0]"),
        ('[[measurement]]\nkind = "tcp"\nduration = 5\n', "$.measurement[0].duration"),
        ('[[measurement]]\nkind = "tcp"\nduration = ["1s", 2]\n', "$.measurement[0].duration"),
        ('[[measurement]]\nkind = "tcp"\n[plan]\nblocks = 0\n', "$.plan.blocks"),
        ('[[measurement]]\nkind = "tcp"\n[plan]\nsede = 1\n', "$.plan"),
        ('[[measurement]]\nkind = "tcp"\n[[claim]]\nid = "c"\n', "$.claim[0]"),
        ("", "$"),
    ],
)
def test_mistakes_are_found(schema: dict[str, Any], more: str, path: str) -> None:
    assert mistakes(schema, HEAD + more) == [path]


def test_what_culvert_lacks_is_for_the_study_to_say(schema: dict[str, Any]) -> None:
    assert mistakes(schema, HEAD + '[[measurement]]\nkind = "k8s_api"\nrequests = 5\n') == []


@pytest.mark.skipif(not COPY.exists(), reason="no checkout")
def test_the_copy_for_editors_is_current() -> None:
    current = json.loads(schema_text(installed_catalogue()))
    assert json.loads(COPY.read_text(encoding="utf-8")) == current, (
        "renew it: culvert study schema > docs/study.schema.json"
    )
