from __future__ import annotations

import os
import re
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from culvert.files.names import is_inside, slug, slugs

_PATHS = st.text(st.sampled_from("./\\ab~\0\n- "), max_size=12) | st.text()


@given(_PATHS)
def test_slugs_are_file_names(text: str) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", slug(text))
    assert len(slug(text)) <= 60


@given(st.sets(_PATHS | st.text("qQ-. ", min_size=1, max_size=3)))
def test_no_two_names_have_one_slug_whatever_their_case(names: set[str]) -> None:
    found = slugs(names)
    assert found.keys() == names
    assert len({one.casefold() for one in found.values()}) == len(names)
    assert all(re.fullmatch(r"[a-z0-9]+(--?[a-z0-9]+)*", one) for one in found.values())


def test_a_name_that_is_its_own_slug_keeps_it() -> None:
    assert slugs(["Only One"]) == {"Only One": "only-one"}
    found = slugs(["Quick", "quick", "other/one"])
    assert (found["quick"], found["other/one"]) == ("quick", "other-one")
    assert found["Quick"].startswith("quick--")
    assert slugs([found["Quick"], *found])[found["Quick"]] != found["Quick"]


@given(_PATHS)
def test_what_is_inside_of_a_folder_stays_there(text: str) -> None:
    if is_inside(text):
        folder = Path("/folder")
        joined = os.path.normpath(folder / text)
        assert joined == f"/folder/{text}"
        assert "\0" not in text
