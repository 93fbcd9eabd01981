"""The user's credentials for a registry, as ``docker login`` and ``podman login`` write them.

https://docs.docker.com/reference/cli/docker/login/
"""

from __future__ import annotations

import base64
import os
from pathlib import Path

from culvert.errors import UsageError
from culvert.files.json_text import read_json
from culvert.labs.kubernetes.registry.reference import HUB

_KEYS = ("{}", "https://{}", "https://{}/", "https://{}/v1/", "https://{}/v2/")
_HUB_KEYS = ("https://index.docker.io/v1/",)


def config_file() -> Path:
    """$DOCKER_CONFIG/config.json, or ~/.docker/config.json."""
    given = os.environ.get("DOCKER_CONFIG")
    return (Path(given) if given else Path.home() / ".docker") / "config.json"


def basic(registry: str) -> str | None:
    """USER:PASSWORD in base64, as HTTP's basic authentication has it; None if there is none.

    It is a secret. Raises UsageError if the file cannot be used.
    """
    path = config_file()
    try:
        auths = read_json(path.read_bytes()).get("auths", {})
        keys = _HUB_KEYS if registry == HUB else [key.format(registry) for key in _KEYS]
        entries = map(auths.get, keys)
        found = next((entry["auth"] for entry in entries if entry and entry.get("auth")), None)
        if found is not None:
            base64.b64decode(found, validate=True)
    except FileNotFoundError:
        return None
    except OSError as error:
        why = error.strerror or "cannot be read"
        raise UsageError(str(path), why, "make it readable, or log in again") from error
    except (ValueError, AttributeError, TypeError):  # what it holds may be a secret: not chained
        raise UsageError(
            str(path), "its `auths` are not understood", f"log in again: docker login {registry}"
        ) from None
    return found
