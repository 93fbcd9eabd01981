from __future__ import annotations

import os
import resource
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import cast

import pytest

from culvert.errors import CulvertError, DeadlineExceeded, NotPossible
from culvert.journal.journal import Journal
from culvert.plan.plan import PROFILED, Cell, Trial
from culvert.report.model import read
from culvert.report.views.profiles import profiles
from culvert.run.output.tally import Tally
from culvert.run.profile import pictures
from culvert.run.profile.perf import OWN, Perf, Stacks, of_the_lab
from culvert.run.profile.pictures import Profiles, difference
from tests.cli import SMALL, Cli
from tests.run.fakes import Recorder, made, runner, study

INFERNO = pytest.mark.skipif(
    not (shutil.which("inferno-collapse-perf") and shutil.which("perf")),
    reason="perf or inferno is not installed",
)

FOLDED = """\
task-3-12;main;send;entry_SYSCALL_64_[k] 3
wireguard-go-13;runtime.main;seal 5
wireguard-go-13 1
python-7;run 100
perf-9;main 50
cc1-0;ret_from_fork_[k];kthread_[k];decrypt_[k] 7
cc1-0;compile;asm_sysvec_call_[k];__do_softirq_[k];net_rx_[k] 2
cc1-0;compile;entry_SYSCALL_64_[k];vfs_read_[k] 90
swapper-0;cpu_idle_[k] 80
"""


def test_stacks_are_of_the_lab_and_of_what_the_kernel_does_for_it() -> None:
    names = {"12": "culvert-probe", "13": "wireguard-go", "7": OWN}
    assert of_the_lab(FOLDED, names) == {
        "culvert-probe;main;send;entry_SYSCALL_64_[k]": 3,
        "wireguard-go;runtime.main;seal": 5,
        "wireguard-go": 1,
        "kernel;ret_from_fork_[k];kthread_[k];decrypt_[k]": 7,
        "kernel;__do_softirq_[k];net_rx_[k]": 2,
    }


def test_a_difference_compares_shares_of_two_programs() -> None:
    before = Stacks({"openvpn;a": 10, "kernel;x": 10})
    after = Stacks({"wireguard-go;a": 20, "wireguard-go;b": 20})
    assert difference(before, after) == b"VPN;a 20 20\nVPN;b 0 20\nkernel;x 20 0\n"


class _Marking:
    """Profiles that record nothing."""

    def __init__(self) -> None:
        self.discarded: list[str] = []

    def around(self, trial: Trial) -> Callable[[], AbstractContextManager[None]]:
        @contextmanager
        def nothing() -> Iterator[None]:
            yield

        assert trial.block == PROFILED
        return nothing

    def discard(self, cell: Cell) -> None:
        self.discarded.append(cell.vpn)


class _Noting(Recorder):
    def note(self, text: str) -> None:
        assert text.startswith("profile: ")


def test_profiled_trials_are_recorded_and_do_not_count(tmp_path: Path) -> None:
    of, marking, tally = study("fake/good"), _Marking(), Tally()
    with made(tmp_path / "run", of) as journal:
        made_runner = runner(of, journal, _Noting())
        made_runner.profile(cast("Profiles", marking), tally)
        assert sorted(marking.discarded) == ["fake/good", "none"]  # its labs cannot be opened
        assert all(note.startswith("no profile of ") for note in tally.notes)
        assert set(journal.trials()["block"]) == {PROFILED}
        assert journal.rows().is_empty()
    assert read(tmp_path / "run").counts.total == 0


def test_without_the_programs_there_is_the_remedy(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def missing(name: str) -> None:
        return None

    monkeypatch.setattr("culvert.tools.find", missing)
    with pytest.raises(NotPossible) as found:
        Perf()
    assert (found.value.what, found.value.remedy) == ("perf", "apt-get install linux-perf")


@pytest.mark.parametrize(
    ("script", "collapse", "why"),
    [
        ("exec sleep 60", "exec cat", "perf script: did not end within 0.5 s"),
        ("echo half; exit 3", "exec cat", "perf script: exit code 3"),
        ("exec yes", "exit 4", "inferno-collapse-perf: exit code 4"),
    ],
)
def test_samples_that_cannot_be_read_are_an_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: str, collapse: str, why: str
) -> None:
    programs = {
        "perf": f"if [ $1 = script ]; then {script}; fi",
        "inferno-collapse-perf": collapse,
    }
    for name, text in programs.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setattr("culvert.tools.find", lambda name: tmp_path / name)
    samples = Perf()
    monkeypatch.setattr("culvert.run.profile.perf.DEADLINE_S", 0.5)
    with pytest.raises(CulvertError, match=why):
        samples._folded(tmp_path / "perf.data")


_SAMPLER = """\
#!{python}
import os, sys
(control, answer), = (word[13:].split(",") for word in sys.argv if word.startswith("--control=fd:"))
while os.read(int(control), 16) == b"enable\\n":
    os.write(int(answer), b"ack\\n")
"""


def test_it_samples_beside_many_open_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A lab of hundreds of nodes has more than a thousand."""
    (tmp_path / "perf").write_text(_SAMPLER.format(python=sys.executable))
    (tmp_path / "perf").chmod(0o755)
    samples = object.__new__(Perf)
    monkeypatch.setattr(samples, "_perf", str(tmp_path / "perf"), raising=False)
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(2048, before[1]), before[1]))
    try:
        with ExitStack() as opened:
            for _ in range(1024):
                opened.enter_context(Path(os.devnull).open())
            with samples._sampling(tmp_path / "perf.data"):
                sampled = True
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert sampled


def test_a_picture_that_takes_too_long_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "DEADLINE_S", 0.1)
    with pytest.raises(DeadlineExceeded, match="sleep: did not end"):
        pictures._output(["sleep", "60"], b"")


def test_a_lab_with_kernels_of_its_own_is_refused(say: Cli) -> None:
    refused = say("run", "quick", "--lab", "vm", "--profile")
    refused.refused(3, "--profile", "the nodes of the lab vm have other kernels")


def test_pictures_beside_a_journal_are_found_differences_first(tmp_path: Path) -> None:
    assert profiles(tmp_path) == ()
    (tmp_path / "profiles").mkdir()
    for name in ("tcp-1--a", "tcp-1--a--b"):
        (tmp_path / f"profiles/{name}.svg").write_text("<svg/>")
    found = profiles(tmp_path)
    assert [(one.name, one.difference) for one in found] == [
        ("tcp-1--a--b", True),
        ("tcp-1--a", False),
    ]
    assert found[0].source.startswith("data:image/svg+xml;base64,")


@INFERNO
@pytest.mark.lab
@pytest.mark.vpn
def test_a_profile_of_a_run_names_the_vpns_functions(tmp_path: Path, say: Cli) -> None:
    study_ = tmp_path / "s.toml"
    study_.write_text(SMALL.format(vpns='"none", "wireguard/go"', probes=500, blocks=1))
    out = tmp_path / "run"
    said = say("run", str(study_), "--out", str(out), "--profile")
    assert said.code == 0, said.err
    (folded,) = (out / "profiles").glob("rtt-*--wireguard-go.folded")
    assert "wireguard-go;" in folded.read_text()
    with Journal.open(out) as journal:
        assert set(journal.rows()["block"]) == {1}
        assert PROFILED in set(journal.trials()["block"])
    assert say("report", str(out)).code == 0
    assert 'id="profiles"' in (out / "report.html").read_text()
