"""``culvert kubernetes image``: a file, a push, an import."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from culvert.commands.actions.kubernetes import ImageRequest
from culvert.errors import NotPossible, UsageError
from culvert.labs.probes import static_probe
from tests.cli import culvert
from tests.labs.kubernetes.registry_server import NAME, serving


@pytest.mark.parametrize(
    ("request_", "word"),
    [
        (ImageRequest(None), "needs a FILE or --push"),
        (ImageRequest(None, "r.e/x:1", into_containerd=True), "needs the archive"),
        (ImageRequest(Path("x"), plain_http=True), "applies to --push only"),
        (ImageRequest(None, "x"), "does not name an image"),
    ],
)
def test_options_that_do_not_agree(request_: ImageRequest, word: str) -> None:
    with pytest.raises(UsageError, match=word):
        request_.require_valid()


def test_the_probes_image_is_pushed(tmp_path: Path) -> None:
    try:
        static_probe("the probe's image")
    except NotPossible as error:
        pytest.skip(str(error))
    with serving() as registry:
        words = ("kubernetes", "image", tmp_path / "x.tar", "--json")
        reference = f"{registry.host}/{NAME}:1"
        done = culvert(*words, "--push", reference, env={"DOCKER_CONFIG": str(tmp_path)})
        assert done.code == 0, done.err
        printed = json.loads(done.out)
        assert printed["pushed"] == reference
        assert printed["bytes"] == (tmp_path / "x.tar").stat().st_size
        assert set(registry.manifests) == {"1"}
        assert len(registry.blobs) == 2
