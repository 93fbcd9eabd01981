"""The base of all answers, their validation, and distributions of times."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from culvert.errors import ProbeError

R = TypeVar("R", bound="Result")
SHARES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99_9": 0.999, "p99_99": 0.9999}
"""Percentiles, by the names in an answer and in metrics."""

OTHER_VERSION = (
    "probe and culvert are of different versions: run `make setup` again, and `make probe-static` "
    "for the probe of hosts and pods"
)


class Result(BaseModel):
    """Base: unknown fields are ignored, so that a newer probe can add some."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class Times(Result):
    """Nanoseconds; ``histogram`` is HDR V2 in base64. None where nothing was recorded."""

    histogram: str | None = None
    min_ns: int | None = None
    p50_ns: int | None = None
    p90_ns: int | None = None
    p99_ns: int | None = None
    p99_9_ns: int | None = None
    p99_99_ns: int | None = None
    max_ns: int | None = None
    mean_ns: float | None = None

    def us(self, name: str, count: int | None = None) -> float | None:
        """Microseconds of ``min``, ``mean``, ``max`` or a percentile. None where none of ``count``
        times can lie beyond the percentile."""
        value: float | None = getattr(self, f"{name}_ns")
        # Rounded, because 10 * (1 - 0.9) is a little less than 1.
        enough = count is None or round(count * (1 - SHARES.get(name, 0.0)), 6) >= 1
        return value / 1e3 if value is not None and enough else None


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
            OTHER_VERSION,
        ) from None
