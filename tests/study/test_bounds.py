"""No study file takes long to refuse, whatever stands in it."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from culvert.errors import StudyError
from culvert.study.study import Study
from culvert.vpns.registry import installed_catalogue

REFUSED_WITHIN_S = 2.0
HEAD = 'name = "s"\nvpns = ["wireguard/go"]\n'
RTT = '[[measurement]]\nkind = "rtt"\n'


def plan(blocks: str) -> str:
    return f"{HEAD}{RTT}[plan]\nblocks = {blocks}\n"


def array(count: int) -> str:
    return "[" + ", ".join(map(str, range(1, count + 1))) + "]"


ATTACKS: Mapping[str, str | bytes] = {
    "5,000 digits": plan("9" * 5000),
    "5,000 hexadecimal digits": plan("0x" + "f" * 5000),
    "5,000 digits with underscores": plan("_".join("9" * 5000)),
    "10^400 blocks": plan("1" + "0" * 400),
    "10^400 blocks at most": plan("{ max = 1" + "0" * 400 + " }"),
    "10^30 blocks": plan("1" + "0" * 30),
    "10^30 blocks at most": plan("{ max = 1" + "0" * 30 + " }"),
    "a float of 10^400": plan("1e400"),
    "10^400 warm-up blocks": f"{HEAD}{RTT}[plan]\nwarmup = 1{'0' * 400}\n",
    "a size of 10^400": f'{HEAD}[[measurement]]\nkind = "udp"\npacket_size = 1{"0" * 400}\n',
    "160,000 cells": (
        f'{HEAD}[[measurement]]\nkind = "tcp"\nstreams = {array(400)}\nwrite_size = {array(400)}\n'
    ),
    "160,000 cells of many measurements": HEAD
    + "".join(f'[[condition]]\nname = "c{n}"\n' for n in range(400))
    + f'[[measurement]]\nkind = "rtt"\nprobes = {array(400)}\n',
    "160,000 cells at a scale": f"{HEAD}{RTT}probes = 5\n[scale.x]\nprobes = {array(160_000)}\n",
    "20,000 dotted keys": HEAD + RTT + ".".join("a" * 20_000) + " = 1\n",
    "20,000 dotted and quoted keys": HEAD + RTT + ".".join(['"a"'] * 20_000) + " = 1\n",
    "20,000 dotted keys in a header": f"{HEAD}{RTT}[{'.'.join('a' * 20_000)}]\n",
    "20,000 dotted keys in a table": f"{HEAD}{RTT}x = {{ {'.'.join('a' * 20_000)} = 1 }}\n",
    "20,000 keys": HEAD + RTT + "".join(f"a{n} = 1\n" for n in range(20_001)),
    "20,000 lines of dotted keys": HEAD + "".join(f"a.b.c.d{n} = 1\n" for n in range(20_001)),
    "20,000 tables": HEAD + "".join(f"[a{n}]\n" for n in range(20_001)),
    "10,000 VPNs": 'name = "s"\nvpns = [' + '"wireguard/gO", ' * 10_000 + "]\n" + RTT,
    "10,000 conditions": HEAD + RTT + '[[condition]]\nname = "x"\n' * 10_000,
    "10,000 claims": HEAD + RTT + '[[claim]]\nid = "x"\n' * 10_000,
    "50,000 brackets": f"{HEAD}x = {'[' * 50_000}",
    "500 brackets with blanks": f"{HEAD}x = {'[ ' * 500}{']' * 500}\n",
    "nested inline tables": f"{HEAD}x = {'{a = ' * 500}1{'}' * 500}\n",
    "an array of a megabyte": f"{HEAD}x = [{'1,' * 500_000}]\n",
    "a text of a megabyte": f'{HEAD}title = "{"x" * (1 << 20)}"\n',
    "a byte order mark": "\ufeff" + HEAD + RTT,
    "a byte order mark of UTF-16": (HEAD + RTT).encode("utf-16"),
    "an impossible date": f"{HEAD}x = 2026-02-31\n",
    "an open string": f'{HEAD}title = "{"a" * 100_000}',
    "many open strings": HEAD + '"""\\' * 50_000,
    "spaces and dots": HEAD + "a . " * 50_000,
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_it_is_refused_at_once(tmp_path: Path, attack: str) -> None:
    path = tmp_path / "study.toml"
    content = ATTACKS[attack]
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    catalogue = installed_catalogue()
    begun = time.process_time()
    with pytest.raises(StudyError) as caught:
        Study.load(path, catalogue)
    assert time.process_time() - begun < REFUSED_WITHIN_S
    assert caught.value.why
    assert caught.value.remedy
    assert len(str(caught.value)) < 1000


def test_a_hundred_megabytes_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    with path.open("wb") as file:
        file.write((HEAD + "x = [").encode())
        file.truncate(100 << 20)
    with pytest.raises(StudyError, match="larger than"):
        Study.load(path, installed_catalogue())


def test_what_is_no_plain_file_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "study.toml")
    for path in (tmp_path / "study.toml", Path("/dev/zero")):
        with pytest.raises(StudyError, match="not a regular file"):
            Study.load(path, installed_catalogue())


def test_strings_are_no_keys_and_no_numbers() -> None:
    text = HEAD + f'title = "{"a." * 60} {"9" * 60} {"[" * 60}" # {"a." * 60}\n' + RTT
    assert Study.parse(text, installed_catalogue()).title.startswith("a.a.")


NAMES = {
    "a loop of links": "loop",
    "a zero byte": "a\\u0000b",
    "a long name": "x" * 5000,
    "a long path": "x/" * 5000,
    "a directory": ".",
    "nothing": "",
    "a pipe": "pipe",
    "a device": "/dev/zero",
    "what the kernel makes": "/proc/self/pagemap",
    "a home": "~root",
    "right to left": "\u202ex",
    "another's file": "/etc/passwd",
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("key", ['trace = "{}"', 'jitter = {{ file = "{}" }}'])
def test_a_file_that_a_study_names_is_refused_at_once(tmp_path: Path, key: str, name: str) -> None:
    (tmp_path / "loop").symlink_to("loop")
    os.mkfifo(tmp_path / "pipe")
    line = key.format(NAMES[name])
    path = tmp_path / "study.toml"
    path.write_text(f'{HEAD}{RTT}[[condition]]\nname = "c"\n{line}\n')
    begun = time.process_time()
    with pytest.raises(StudyError) as caught:
        Study.load(path, installed_catalogue())
    assert time.process_time() - begun < REFUSED_WITHIN_S
    assert "root:x:" not in str(caught.value)
    assert caught.value.remedy


def test_a_thousand_conditions_of_one_recording_take_no_time(tmp_path: Path) -> None:
    (tmp_path / "long.trace").write_text("".join(f"{number}\n" for number in range(100_000)))
    conditions = "".join(
        f'[[condition]]\nname = "c{number}"\ntrace = "long.trace"\n' for number in range(1000)
    )
    path = tmp_path / "study.toml"
    path.write_text(f'{HEAD}[lab]\nlink = {{ kind = "wire" }}\n{RTT}{conditions}')
    begun = time.process_time()
    Study.load(path, installed_catalogue())
    assert time.process_time() - begun < 5 * REFUSED_WITHIN_S
