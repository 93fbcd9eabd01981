"""``culvert kubernetes image``: a file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from culvert.errors import NotPossible
from culvert.labs.kubernetes.image import PROBE_IMAGE
from culvert.labs.probes import static_probe
from tests.cli import culvert


def test_the_probes_image_is_written(tmp_path: Path) -> None:
    try:
        static_probe("the probe's image")
    except NotPossible as error:
        pytest.skip(str(error))
    path = tmp_path / "x.tar"
    done = culvert("kubernetes", "image", path, "--json")
    assert done.code == 0, done.err
    size = path.stat().st_size
    assert json.loads(done.out) == {"image": PROBE_IMAGE, "file": str(path), "bytes": size}
    assert f"skopeo copy oci-archive:{path} docker://" in culvert("kubernetes", "image", path).out
