from __future__ import annotations

import io

from rich.table import Table
from rich.text import Text

from culvert.console import SafeConsole
from culvert.fitting import Fitting


def shown(width: int) -> str:
    table = Table("VPN", "note", box=None)
    table.add_column("goodput", no_wrap=True)
    table.add_row("wireguard/amneziawg", Text("about 9 more blocks"), "929 Mbit/s")
    table.add_row("none", Text(""), "8.3 Gbit/s")
    console = SafeConsole(width=width, file=io.StringIO())
    with console.capture() as captured:
        console.print(Fitting(table))
    return captured.get()


def test_a_table_whose_words_fit_is_a_table() -> None:
    assert "goodput:" not in shown(60)
    assert shown(60).count("VPN") == 1


def test_a_narrow_console_gets_a_paragraph_a_row_and_loses_no_text() -> None:
    first, second = shown(24).split("VPN: ")[1:]
    whole = "wireguard/amneziawg; note: about 9 more blocks; goodput: 929 Mbit/s"
    assert " ".join(first.split()) == whole
    assert " ".join(second.split()) == "none; goodput: 8.3 Gbit/s"
