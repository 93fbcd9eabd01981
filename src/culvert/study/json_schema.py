"""The JSON schema of study files, for editors (https://json-schema.org/draft/2020-12)."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from culvert.study.catalogue import Catalogue
from culvert.study.model import StudyFile

_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_EXPLANATIONS = {
    "name": "The study's name: letters, digits, points, dashes, underscores.",
    "title": "One line, shown in reports.",
    "vpns": "Ids as `culvert vpns` prints them; the baseline is added.",
    "lab": "Nodes and links.",
    "condition": "What differs from [lab].",
    "measurement": "A kind and its parameters; an array is crossed.",
    "plan": "The order and number of repetitions.",
    "exclude": "Cells that are left out of the crossing.",
    "scale": "Smaller editions of the study: culvert run STUDY --scale NAME.",
    "claim": "Statements of a source, with a test.",
    "published": "Values that a source has published.",
    "lacking": "VPNs, measurements, conditions or labs that may be missing here, with the reason.",
    "build": "Builds of a VPN's source: the VPN NAME@BUILD uses their programs.",
}


def json_schema(catalogue: Catalogue) -> dict[str, Any]:
    """The schema of a study with the measurements of the catalogue."""
    schema = StudyFile.model_json_schema(by_alias=True, mode="validation")
    definitions: dict[str, Any] = schema["$defs"]
    kinds = sorted(catalogue.measurements)
    for kind in kinds:
        definitions[f"measurement_{kind}"] = _measurement(
            kind, catalogue.measurements[kind].Parameters, definitions
        )
    # A kind that is not installed is valid if [[lacking]] names it; a schema cannot check that.
    definitions["MeasurementTable"] = {
        "type": "object",
        "required": ["kind"],
        "properties": {"kind": {"type": "string", "examples": kinds}},
        "allOf": [
            {
                "if": {"properties": {"kind": {"const": kind}}},
                "then": {"$ref": f"#/$defs/measurement_{kind}"},
            }
            for kind in kinds
        ],
    }
    for name, words in _EXPLANATIONS.items():
        schema["properties"][name]["description"] = words
    schema["title"] = "Culvert study"
    schema.pop("description", None)
    _plain(schema)
    return {"$schema": _DRAFT, **schema}


def _plain(part: Any) -> None:
    """A quantity is text in a file: numeric bounds and a numeric default do not apply to it."""
    if isinstance(part, list):
        for each in part:
            _plain(each)
    if not isinstance(part, dict):
        return
    for each in part.values():
        _plain(each)
    if part.get("type") == "string" and not isinstance(part.get("default", ""), str):
        del part["default"]
    for key in ("gt", "ge", "lt", "le"):
        if not isinstance(part.get(key), dict):
            part.pop(key, None)


def _measurement(
    kind: str, parameters: type[BaseModel], definitions: dict[str, Any]
) -> dict[str, Any]:
    model = parameters.model_json_schema(
        by_alias=True, mode="validation", ref_template=f"#/$defs/{kind}_{{model}}"
    )
    for name, definition in model.pop("$defs", {}).items():
        definitions[f"{kind}_{name}"] = definition
    properties = {
        name: {"anyOf": [rule, {"type": "array", "items": rule, "minItems": 1}]}
        for name, rule in model.get("properties", {}).items()
    }
    return {
        "type": "object",
        "properties": {"kind": {"const": kind}, **properties},
        "required": ["kind", *model.get("required", [])],
        "additionalProperties": False,
    }
