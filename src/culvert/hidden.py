"""Characters that are not seen, or that change how others are shown.

Unicode's Default_Ignorable_Code_Point (DerivedCoreProperties.txt) without the variation selectors
of emoji, and the controls, line separators and marks of annotations.
"""

from __future__ import annotations

import re

HIDDEN = (
    r"\x00-\x08\x0b-\x1f\x7f-\x9f"  # controls except tab and line feed
    r"\x{ad}\x{34f}\x{61c}\x{115f}\x{1160}\x{17b4}\x{17b5}\x{180b}-\x{180f}"
    r"\x{200b}-\x{200f}\x{2028}-\x{202e}\x{2060}-\x{206f}"  # zero width, marks of direction
    r"\x{3164}\x{feff}\x{ffa0}\x{fff0}-\x{fffb}"
    r"\x{13430}-\x{13455}\x{1bca0}-\x{1bca3}\x{1d173}-\x{1d17a}\x{e0000}-\x{e0fff}"
)
"""The content of a character class in the syntax of polars."""
IN_PYTHON = re.sub(r"\\x\{([0-9a-f]+)\}", lambda one: chr(int(one[1], 16)), HIDDEN)
"""The content of a character class in the syntax of ``re``."""
