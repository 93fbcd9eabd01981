from __future__ import annotations

import os
import re
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from culvert.files.names import is_inside, slug

_PATHS = st.text(st.sampled_from("./\\ab~\0\n- "), max_size=12) | st.text()


@given(_PATHS)
def test_slugs_are_file_names(text: str) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", slug(text))
    assert len(slug(text)) <= 60


@given(_PATHS)
def test_what_is_inside_of_a_folder_stays_there(text: str) -> None:
    if is_inside(text):
        folder = Path("/folder")
        joined = os.path.normpath(folder / text)
        assert joined == f"/folder/{text}"
        assert "\0" not in text
