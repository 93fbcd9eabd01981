"""The command line under hands that mean no good: words, remedies, exit codes, no traceback."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from rich.text import Text

from culvert import interruption
from culvert.console import SafeConsole, printable
from culvert.defect import TRACEBACK_VARIABLE, as_error
from culvert.journal.journal import Journal
from culvert.labs.host import Host
from tests.cli import CULVERT, TRACE, Cli, Said, culvert, small_study
from tests.journal.dummies import HEAD, failed, trial

COMMANDS = ("doctor", "vpns", "install", "up", "run", "report", "export", "clean")
ESCAPES = "\x1b[31m\x1b]0;pwned\x07[bold]b[/][/nope]\u202eflip"
NOBODY = ("unshare", "--user")
"""Nobody, with no rights outside; yet it can read this checkout, wherever root keeps it."""


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A directory with a journal."""
    with Journal.create(tmp_path / "results", HEAD) as journal:
        for number in range(3):
            journal.record(trial(number))
        journal.record(failed(3))
    return tmp_path / "results"


# -- words -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", COMMANDS)
def test_help_shows_an_example_and_what_prints_results_has_json(say: Cli, command: str) -> None:
    said = say(command, "--help")
    assert said.code == 0
    assert f"culvert {command}" in said.out.partition("Example: ")[2]
    assert ("--json" in said.out) == (command != "export")  # whose default it is


def test_every_command_of_the_design_is_there(say: Cli) -> None:
    said = say("--help")
    assert all(f"  {command} " in said.out for command in COMMANDS)
    assert say("--version").out.startswith("culvert ")


@pytest.mark.parametrize(
    "words",
    [
        ("bogus",),
        ("run",),
        ("run", "quick", "--bogus"),
        ("report",),
        ("export", ".", "--format", "xml"),
        ("up",),
        (),
    ],
)
def test_wrong_use_is_2_and_says_how_to_get_help(say: Cli, words: tuple[str, ...]) -> None:
    said = say(*words)
    assert said.code == 2
    assert "--help" in said.out + said.err
    assert TRACE not in said.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("up", "wiregard"), 'did you mean "wireguard"'),
        (("up", "wireguard"), "wireguard/go"),
        (("up", "wireguard/goo"), 'did you mean "go"'),
        (("up", "openvpn/aes-256-gcm+tpc"), 'did you mean "tcp"'),
        (("up", "none", "--topology", "ring"), "use pair, routed, star:5, mesh:3 or public"),
        (("run", "quikc"), 'did you mean "quick"'),
        (("run", "nosuch.toml"), "the file does not exist"),
        (("run", ""), "its name is empty"),
        (("run", "/"), "it is a directory"),
        (("run", "a" * 5000), "too long"),
        (("run", "quick", "--lab", "moon"), "use netns"),
        (("run", "quick", "--resume"), "name it with --out DIR"),
        (("run", "quick", "--only", "zzz"), "--dry-run"),
        (("run", "quick", "--only", ""), "--dry-run"),
        (("run", "quick", "--only", "zzz", "--only", "none"), "--only 'zzz'"),
        (("install",), "nothing is selected"),
        (("install", "nosuch"), "known are "),
        (("install", "wireguard/go", "--all"), "culvert install"),
        (("install", "--study", "nosuch"), "no such file"),
        (("report", "/nonexistent"), "it contains no journal"),
        (("export", "/nonexistent"), "it contains no journal"),
        (("export", "/etc/passwd"), "it is not a directory"),
        (("run", "quick", "--scale", "tiny"), 'no scale "tiny"'),
        (("study", "show", "quikc"), 'did you mean "quick"'),
        (("study", "show", "quick", "--scale", "tiny"), 'no scale "tiny"'),
    ],
)
def test_wrong_words_are_2_with_a_remedy(say: Cli, words: tuple[str, ...], told: str) -> None:
    say(*words).refused(2, told)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('vpns = ["wiregard/go"]', 'did you mean "wireguard"'),
        ('vpnz = ["none"]', "vpnz"),
        ('vpns = ["none"]\n[lab.link]\nmtu = 70000', "mtu"),
        ('vpns = ["none"]\n[lab.link]\nrate = "-1 Mbit/s"', "rate"),
        ('vpns = ["none"]\n[plan]\nblocks = 0', "blocks"),
        ('vpns = ["none"]\n[plan]\nblocks = nan', "blocks"),
        ("vpns = [", "not TOML"),
        ('vpns = ["\\u001b[2J"]', "is unknown"),
    ],
)
def test_a_study_that_cannot_be_is_2_with_its_line(
    say: Cli, tmp_path: Path, text: str, told: str
) -> None:
    study = tmp_path / "s.toml"
    study.write_text(f'name = "s"\n{text}\n[[measurement]]\nkind = "rtt"\n')
    said = say("run", study, "--dry-run")
    said.refused(2, told, "line ")
    assert "\x1b[2J" not in said.err


# -- what is foreign -------------------------------------------------------------------------------


def hostile_study(path: Path) -> Path:
    study = small_study(path)
    study.write_text(study.read_text().replace('"Small"', json.dumps(f"{ESCAPES}\nétude")))
    return study


def test_a_title_is_text_and_nothing_else(say: Cli, tmp_path: Path) -> None:
    said = say("run", hostile_study(tmp_path / "s.toml"), "--dry-run")
    assert said.code == 0
    assert "[bold]b[/][/nope]flip" in said.out
    assert "étude" in said.out
    assert not {"\x1b", "\x07", "\u202e"} & set(said.out)


def test_printable_takes_no_column_away() -> None:
    assert printable(f"a{ESCAPES}\tb\n") == "a[31m]0;pwned[bold]b[/][/nope]flip\tb\n"


def test_colours_of_our_own_stay() -> None:
    console = SafeConsole(force_terminal=True, color_system="standard", width=80)
    with console.capture() as captured:
        console.print(Text("x\x1b[5m", style="red"))
    assert captured.get() == "\x1b[31mx[5m\x1b[0m\n"


def test_any_encoding_of_standard_output_will_do(tmp_path: Path) -> None:
    study = hostile_study(tmp_path / "s.toml")
    assert culvert("run", study, "--dry-run", env={"PYTHONIOENCODING": "latin-1"}).code == 0
    said = culvert("run", study, "--dry-run", "--json", env={"PYTHONIOENCODING": "ascii"})
    assert json.loads(said.out)["study"] == "small"


# -- results ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words", [("vpns",), ("doctor",), ("run", "quick", "--dry-run"), ("report", "DIR")]
)
def test_json_is_json_and_nothing_else(say: Cli, results: Path, words: tuple[str, ...]) -> None:
    said = say(*(str(results) if word == "DIR" else word for word in words), "--json")
    assert json.loads(said.out)
    assert said.err == ""


def test_export_prints_each_format(say: Cli, results: Path) -> None:
    rows = json.loads(say("export", results).out)
    assert len(rows) == 7
    assert say("export", results, "--format", "csv").out.count("\n") == 8


def test_export_does_not_take_a_device_away(say: Cli, results: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE) as reader:
        assert say("export", results, "--file", pipe).code == 0
        assert reader.stdout is not None
        assert len(json.loads(reader.stdout.read())) == 7
    assert pipe.is_fifo()


def through(command: str) -> tuple[int, str]:
    """A line for a shell that reports the exit code of culvert, not of its reader."""
    done = subprocess.run(
        ["bash", "-c", f"{command}; exit ${{PIPESTATUS[0]}}"],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stderr


def test_a_reader_that_has_enough_is_no_error(results: Path) -> None:
    for command in (f"export {results}", "vpns"):
        assert through(f"{CULVERT} {command} | true") == (0, "")


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="no /dev/full")
def test_a_full_disk_under_standard_output_is_told(results: Path) -> None:
    for command in (f"export {results} --format csv", "vpns --json"):
        code, told = through(f"{CULVERT} {command} > /dev/full")
        assert code in (1, 2)
        Said(code, "", told).refused(code, "standard output", "space")


def test_closed_standard_streams_are_survived(results: Path, tmp_path: Path) -> None:
    assert through(f"{CULVERT} vpns <&- >&- 2>&-") == (0, "")
    assert through(f"{CULVERT} export {results} --file {tmp_path}/x >&-") == (0, "")
    assert len(json.loads((tmp_path / "x").read_text())) == 7


def test_a_directory_whose_name_is_no_text(say: Cli, results: Path, tmp_path: Path) -> None:
    odd = os.fsdecode(bytes(tmp_path) + b"/odd \xff [red]%41?#")
    results.rename(odd)
    assert culvert("export", odd).code == 0
    said = say("report", odd, "--json")
    assert said.code == 0, said.err
    json.loads(said.out)


# -- journals --------------------------------------------------------------------------------------


def spoil(results: Path, how: str) -> None:
    path = results / "journal.sqlite"
    content = bytearray(path.read_bytes())
    match how:
        case "cut off":
            path.write_bytes(content[: len(content) // 2])
        case "empty":
            path.write_bytes(b"")
        case "text":
            path.write_text("hello")
        case "newer":
            content[60:64] = (99).to_bytes(4, "big")  # user_version, in SQLite's file format
            path.write_bytes(content)
        case "trampled":
            content[4096:12288] = os.urandom(8192)
            path.write_bytes(content)


@pytest.mark.parametrize("how", ["cut off", "empty", "text", "newer", "trampled"])
@pytest.mark.parametrize("command", ["export", "report"])
def test_a_journal_that_is_not_whole_is_2_and_left_alone(
    say: Cli, results: Path, how: str, command: str
) -> None:
    spoil(results, how)
    before = (results / "journal.sqlite").read_bytes()
    said = {"newer": "newer version of Culvert", "empty": "it contains no journal"}
    say(command, results).refused(2, said.get(how, "corrupt"))
    assert (results / "journal.sqlite").read_bytes() == before


# -- this machine ----------------------------------------------------------------------------------


@pytest.mark.skipif(os.geteuid() != 0, reason="becoming nobody needs root")
@pytest.mark.parametrize(
    "words",
    [
        ("run", "quick"),
        ("up", "none"),
    ],
)
def test_without_root_it_is_3(words: tuple[str, ...]) -> None:
    culvert(*words, before=NOBODY).refused(3, "root", "sudo")


@pytest.mark.skipif(os.geteuid() != 0, reason="becoming nobody needs root")
def test_what_needs_no_root_works_without(tmp_path: Path) -> None:
    assert culvert("vpns", "--json", before=NOBODY).code == 0


def test_without_a_program_it_is_3(
    say: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CULVERT_TOOLS", str(tmp_path))
    said = say("up", "wireguard/go")
    said.refused(3, "wireguard-go", "culvert install wireguard/go")
    rows = {row["vpn"]: row for row in json.loads(say("vpns", "--json").out)}
    assert not rows["wireguard/go"]["ready"]
    assert rows["wireguard/go"]["missing"][0]["remedy"] == "culvert install wireguard/go"
    assert rows["none"]["ready"]


@pytest.mark.skipif(os.geteuid() != 0, reason="a private mount namespace needs root")
def test_without_dev_net_tun_it_is_3() -> None:
    hidden = ("unshare", "-m", "sh", "-c", 'mount -t tmpfs none /dev/net && exec "$@"', "sh")
    culvert("up", "wireguard/go", before=hidden).refused(3)
    rows = json.loads(culvert("vpns", "--json", before=hidden).out)
    whats = [missing["what"] for row in rows for missing in row["missing"]]
    assert any("/dev/net/tun" in what for what in whats)


# -- interruptions and defects ---------------------------------------------------------------------


def test_ctrl_c_is_130_and_says_so(say: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_: Host) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr("culvert.vpns.listing.list_vpns", interrupt)
    assert say("vpns") == Said(130, "", "interrupted\n")


def test_ctrl_c_that_another_error_replaced_is_130_too(
    say: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    def replace(_: Host) -> Any:
        with suppress(KeyboardInterrupt):
            interruption._interrupt(signal.SIGINT, None)
        raise ValueError("1 validation error")

    monkeypatch.setattr("culvert.vpns.listing.list_vpns", replace)
    assert say("vpns") == Said(130, "", "interrupted\n")


def test_a_defect_is_an_error_and_a_traceback_on_request(
    say: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stumble(_: Host) -> Any:
        raise LookupError(f"many\nlines {ESCAPES} {'x' * 10_000}")

    monkeypatch.delenv(TRACEBACK_VARIABLE, raising=False)
    monkeypatch.setattr("culvert.vpns.listing.list_vpns", stumble)
    said = say("vpns")
    said.refused(1, "a defect: LookupError: many lines", "test_cli.py:", TRACEBACK_VARIABLE)
    assert "\x1b" not in said.err
    assert len(said.err) < 600
    monkeypatch.setenv(TRACEBACK_VARIABLE, "1")
    assert TRACE in say("vpns").err


def test_a_broken_pipe_that_is_not_ours_is_no_success(
    say: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    def break_pipe(_: Host) -> Any:
        raise BrokenPipeError(32, "Broken pipe")

    monkeypatch.setattr("culvert.vpns.listing.list_vpns", break_pipe)
    say("vpns").refused(1, "BrokenPipeError")


HEAVY = ("scipy", "altair", "vl_convert", "ansible_runner")


@pytest.mark.parametrize(
    ("words", "absent"),
    [
        (("--help",), (*HEAVY, "polars", "numpy", "pyroute2", "pydantic", "importlib.metadata")),
        (("run", "quick", "--dry-run"), (*HEAVY, "polars")),  # it tries features of the kernel
    ],
)
def test_commands_import_what_they_need_only(
    words: tuple[str, ...], absent: tuple[str, ...]
) -> None:
    told = subprocess.run(
        [sys.executable, "-X", "importtime", CULVERT, *words],
        capture_output=True,
        text=True,
        check=True,
    ).stderr
    imported = {line.rpartition("|")[2].strip() for line in told.splitlines()}
    assert "culvert" in imported
    assert sorted(imported & set(absent)) == []


@pytest.mark.parametrize("raised", ["MemoryError", "ImportError"])
def test_without_memory_there_is_an_error_and_no_traceback(raised: str) -> None:
    """At once, or while another error is shown."""
    program = (
        "import sys; from culvert.commands import entry\n"
        f"def app(): raise {raised}\n"
        "def tell(error): raise MemoryError\n"
        "entry.app, entry._tell = app, tell\n"
        "entry.main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    Said(done.returncode, done.stdout, done.stderr).refused(1, "no memory is left")


def test_a_library_that_a_limit_of_memory_keeps_out_is_no_defect(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    error = ImportError("failed to map segment from shared object")
    monkeypatch.setattr(resource, "getrlimit", lambda _: (resource.RLIM_INFINITY,) * 2)
    assert "a defect" in as_error(error, "culvert").why
    monkeypatch.setattr(resource, "getrlimit", lambda _: (300 << 20,) * 2)
    limited = as_error(error, "culvert")
    assert "a limit of memory holds (300 MiB)" in limited.why
    assert "ulimit -v" in limited.remedy
