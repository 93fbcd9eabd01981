"""The documentation's examples: studies that are valid, commands and options that exist."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from culvert.commands.app import app
from culvert.study.study import Study
from culvert.vpns.registry import installed_catalogue

from .tables import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
TOML = re.compile(r"^```toml\n(.*?)^```", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"(?<![\w./-])culvert((?: +[^\s`'\"|#;)}]+)+)")
PARTS = {"lab", "condition", "measurement", "plan", "exclude", "claim"}
REST = {
    "name": 'name = "example"',
    "vpns": 'vpns = ["wireguard/go", "strongswan/esp-aes128gcm", "openvpn/aes-256-gcm"]',
    "lab": '[lab]\nlink = { kind = "wire" }',
    "measurement": '[[measurement]]\nkind = "udp"\npacket_size = [64, 512]',
}
"""What an example that shows a part of a study leaves out."""
CULVERT: Any = get_command(app)
ELSEWHERE = {"--", "--shelf"}
"""Words after it are not options; the option of the lab that docs/add-a-lab.md adds."""


def studies() -> Iterator[Any]:
    for page in PAGES:
        for number, text in enumerate(TOML.findall(page.read_text("utf-8")), 1):
            if PARTS & tomllib.loads(text).keys():
                yield pytest.param(text, id=f"{page.stem}-{number}")


@pytest.mark.parametrize("text", list(studies()))
def test_the_study_is_valid(text: str) -> None:
    missing = [part for key, part in REST.items() if key not in tomllib.loads(text)]
    keys = [part for part in missing if not part.startswith("[")]
    tables = [part for part in missing if part.startswith("[")]
    study = Study.parse("\n".join([*keys, text, *tables]), installed_catalogue())
    assert study.vpns


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_option_of_a_command_exists(page: Path) -> None:
    unknown = [
        f"culvert{words}: {option}"
        for words in COMMAND.findall(page.read_text("utf-8"))
        for option in _unknown(words.split())
    ]
    assert not unknown


def test_an_option_that_no_command_has_is_noticed() -> None:
    assert _unknown(["run", "quick", "--lab", "vm", "--nothing"]) == ["--nothing"]
    assert _unknown(["vpns", "check", "--keep"]) == []


def _unknown(words: list[str]) -> list[str]:
    """The options among the words that the command does not have."""
    command = CULVERT
    while words and words[0] in getattr(command, "commands", {}):
        command, words = command.commands[words[0]], words[1:]
    if command.name == "wire":  # a program that reads its own options
        return []
    parameters = command.get_params(command.context_class(command))
    known = {name for each in parameters for name in (*each.opts, *each.secondary_opts)}
    given = (word.strip("[],.:").partition("=")[0] for word in words if word.startswith("--"))
    return [option for option in given if option not in known | ELSEWHERE]
