"""The base of all answers, and their validation."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from culvert.errors import ProbeError

R = TypeVar("R", bound="Result")


class Result(BaseModel):
    """Base: unknown fields are ignored, so that a newer probe can add some."""

    model_config = ConfigDict(extra="ignore", frozen=True)


def parse(kind: type[R], answer: dict[str, Any]) -> R:
    """Validate an answer against its type; raises ProbeError."""
    try:
        return kind.model_validate(answer)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise ProbeError(
            f"probe answer {kind.__name__}.{place}",
            first["msg"],
            "probe and culvert are of different versions: run 'make setup' again",
        ) from None
