"""Programs on nodes: start, streams, end, CPUs, and what becomes of their children."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

from culvert.errors import DeadlineExceeded, LabError, NotPossible
from culvert.labs.process import Process
from culvert.topology.spec import LabSpec
from culvert.waiting import wait_until
from tests.conftest import LabFactory
from tests.labs.host import process_on

pytestmark = pytest.mark.lab


def test_run_returns_streams_and_exit_code(lab: LabFactory) -> None:
    node = lab().a
    done = node.run(["sh", "-c", "cat; echo oops >&2; exit 3"], stdin="hello", check=False)
    assert (done.returncode, done.stdout, done.stderr) == (3, "hello", "oops\n")


def test_a_failing_run_tells_what_was_said(lab: LabFactory) -> None:
    with pytest.raises(LabError, match="oops"):
        lab().a.run(["sh", "-c", "echo oops >&2; exit 3"])


def test_run_has_a_deadline(lab: LabFactory) -> None:
    node = lab().a
    with pytest.raises(DeadlineExceeded, match="sleep"):
        node.run(["sleep", "1000"], timeout_s=0.05)
    assert not _in_node_of(node.netns_path, "sleep")


def test_spawn_notes_when_the_program_started(lab: LabFactory) -> None:
    before = time.monotonic_ns()
    process = lab().a.spawn(["sleep", "1000"], name="sleeper")
    assert before < process.started_monotonic_ns <= time.monotonic_ns()
    # Not the helper that starts it: from the moment spawn returns it is the program itself.
    assert Path(f"/proc/{process.pid}/comm").read_text() == "sleep\n"


def test_pipes_talk_to_the_program(lab: LabFactory) -> None:
    process = lab().a.spawn(["cat"], name="cat", pipes=True)
    process.stdin.write(b"hello\n")
    process.stdin.flush()
    assert process.stdout.readline() == b"hello\n"
    process.stop()
    assert not process.alive()


def test_without_pipes_there_are_none(lab: LabFactory) -> None:
    process = lab().a.spawn(["sleep", "1000"], name="sleeper")
    with pytest.raises(LabError, match="without pipes"):
        _ = process.stdin


def test_the_log_has_both_streams_of_this_process_alone(lab: LabFactory) -> None:
    node = lab().a
    for word in ("first", "second"):
        process = node.spawn(["sh", "-c", f"echo {word}; echo err >&2"], name="talker")
        _await_end(process)
        assert process.log_text() == f"{word}\nerr\n"


def test_death_is_reported(lab: LabFactory) -> None:
    node = lab().a
    process = node.spawn(["sh", "-c", "exit 7"], name="short")
    _await_end(process)
    assert process.returncode() == 7
    process.stop()
    assert process.returncode() == 7
    killed = node.spawn(["sleep", "1000"], name="sleeper")
    os.kill(killed.pid, signal.SIGKILL)
    _await_end(killed)
    assert killed.returncode() == -signal.SIGKILL


def test_stop_terminates_then_kills_and_is_idempotent(lab: LabFactory) -> None:
    node = lab().a
    gentle = node.spawn(["sleep", "1000"], name="gentle")
    gentle.stop()
    gentle.stop()
    assert gentle.returncode() == -signal.SIGTERM
    deaf = (
        "import signal; signal.signal(15, signal.SIG_IGN); print('x', flush=True); signal.pause()"
    )
    stubborn = node.spawn([sys.executable, "-c", deaf], name="stubborn")
    wait_until(lambda: stubborn.log_text() == "x\n", what="its handler", deadline_s=5)
    stubborn.stop(grace_s=0.05)
    assert stubborn.returncode() == -signal.SIGKILL


def test_a_stop_that_is_over_is_known_to_the_parent(lab: LabFactory) -> None:
    process = lab().a.spawn(["sleep", "60"], name="sleeper")
    assert process.resumptions() == 0
    for times in (1, 2):
        os.kill(process.pid, signal.SIGSTOP)
        wait_until(lambda: bool(process.stopped()), what="the stop", deadline_s=2)
        os.kill(process.pid, signal.SIGCONT)
        wait_until(lambda: not process.stopped(), what="its end", deadline_s=2)
        assert [process.resumptions(), process.resumptions()] == [times, times]
    process.stop()
    assert process.resumptions() == 2


def test_stop_ends_the_whole_group_even_after_its_leader(lab: LabFactory) -> None:
    process = lab().a.spawn(["sh", "-c", "sleep 1000 & echo $!"], name="parent")
    _await_end(process)
    child = int(process.log_text())
    assert _running(child)
    process.stop()
    assert not _running(child)


def test_close_ends_daemons_that_forked_away(lab: LabFactory) -> None:
    pair = lab()
    done = pair.b.run(["sh", "-c", "setsid sleep 1000 </dev/null >/dev/null 2>&1 & echo $!"])
    daemon = int(process_on(pair.b, int(done.stdout)).name)
    assert _running(daemon)
    pair.close()
    assert not _running(daemon)


def test_programs_outlive_the_thread_that_asked_for_them(lab: LabFactory) -> None:
    """They are to die with Culvert, not with whichever of its threads called spawn()."""
    node = lab().a
    made = []
    thread = threading.Thread(
        target=lambda: made.append(node.spawn(["cat"], name="cat", pipes=True))
    )
    thread.start()
    thread.join()
    made[0].stdin.write(b"still here\n")
    made[0].stdin.flush()
    assert made[0].stdout.readline() == b"still here\n"


def test_cpus_are_honoured(lab: LabFactory) -> None:
    cpu = max(os.sched_getaffinity(0))
    pair = lab(LabSpec(cpus={"a": (cpu,)}))
    read = ["sh", "-c", "grep Cpus_allowed_list /proc/self/status"]
    assert pair.a.run(read).stdout.split()[1] == str(cpu)
    here = Path("/proc/self/status").read_text().partition("Cpus_allowed_list:")[2].split()[0]
    assert pair.b.run(read).stdout.split()[1] == here


@pytest.mark.parametrize("program", ["no-such-program", "/no/such/program"])
def test_a_missing_program_is_not_possible(lab: LabFactory, program: str) -> None:
    node = lab().a
    with pytest.raises(NotPossible, match=program):
        node.spawn([program], name="nothing")
    with pytest.raises(NotPossible, match=program):
        node.run([program])


def test_what_cannot_be_executed_says_why(lab: LabFactory) -> None:
    node = lab().a
    script = node.write("broken", "#!/no/such/interpreter\n")
    script.chmod(0o755)
    with pytest.raises(NotPossible, match="broken"):
        node.run([str(script)])
    script.write_bytes(b"\x7fELF, but not really")
    with pytest.raises(LabError, match="format"):
        node.run([str(script)])


def test_signals_are_as_a_shell_would_give_them(lab: LabFactory) -> None:
    """Python and Rust ignore SIGPIPE; programs that write to a closed pipe must end."""
    status = lab().a.run(["sh", "-c", "grep -E 'Sig(Blk|Ign)' /proc/self/status"]).stdout
    # 32 and 33 are libc's own: what we inherited of them nobody can set.
    inherited = 1 << 31 | 1 << 32
    masks = [int(line.split()[1], 16) & ~inherited for line in status.splitlines()]
    assert masks == [0, 0]


def test_a_closed_lab_starts_nothing(lab: LabFactory) -> None:
    pair = lab()
    pair.close()
    with pytest.raises(LabError):
        pair.a.run(["true"])


def _await_end(process: Process) -> None:
    wait_until(lambda: not process.alive(), what="its end", deadline_s=5)


def _running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def _in_node_of(netns: Path, program: str) -> bool:
    inode = netns.stat().st_ino
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "ns/net").stat().st_ino == inode and program in (
                process / "comm"
            ).read_text():
                return True
        except OSError:
            continue
    return False
