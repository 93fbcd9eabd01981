"""The docstring below a field is its description in the schema of study files."""

from __future__ import annotations

from pydantic import Field, create_model

from culvert.measurements.base import BaseParameters, descriptions


class Parent(BaseParameters):
    """Has nothing to do with its fields."""

    rate_pps: int = Field(1, alias="rate")
    """Packets per second,
    over two lines."""
    bare: int = 2
    known: int = Field(3, description="Given to the field.")
    """Ignored."""


class Child(Parent):
    """Redefines one field, and adds another."""

    bare: int = 4
    """Described by the child."""
    own: int = 5
    """Last in its class."""


def test_docstrings_describe_the_fields_above_them() -> None:
    found = Parent.model_json_schema(by_alias=True)["properties"]
    assert found["rate"]["description"] == "Packets per second,\nover two lines."
    assert "description" not in found["bare"]
    assert found["known"]["description"] == "Given to the field."


def test_fields_of_a_parent_keep_their_descriptions() -> None:
    found = Child.model_json_schema(by_alias=True)["properties"]
    assert found["rate"]["description"].startswith("Packets")
    assert found["bare"]["description"] == "Described by the child."
    assert found["own"]["description"] == "Last in its class."


def test_a_class_without_a_source_has_no_descriptions() -> None:
    made = create_model("Made", __base__=BaseParameters, rate=(int, 1))
    assert descriptions(made) == {}
    assert made.model_json_schema()["properties"]["rate"]["default"] == 1
