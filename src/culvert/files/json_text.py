"""JSON that another program or machine wrote."""

from __future__ import annotations

import json
from typing import Any


def read_json(text: str | bytes) -> Any:
    """As ``json.loads``. Raises ValueError, for what is nested too deeply too."""
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
