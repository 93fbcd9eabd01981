"""A command restarts itself in its own namespaces: root as it is, others as root of a user
namespace. Root without CAP_SYS_ADMIN, as in a container, is one of the others.

``culvert-probe rootless`` creates the namespaces and remains the parent: signals, the terminal, the
standard streams and the exit code pass through it, and all processes inside end with it. The
network namespace remains the machine's, for the record of the machine; a lab creates one for each
node. Files outside /run are the same, and new files belong to the user.
"""

from __future__ import annotations

import errno
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from culvert import tools
from culvert.errors import NotPossible
from culvert.json_text import read_json
from culvert.machine.refusal import Obstacle, Refusal, Step, missing_options, obstacle
from culvert.machine.tree import Tree
from culvert.privilege import init_outside, is_root, run_as_root

TRIAL_DEADLINE_S = 10.0
NOBODY = 65534
"""The user id with which root tries what an ordinary user may do."""
KEEP_RIGHTS = "--keep-rights"


def enter(*, own_network: bool = False) -> None:
    """Replace this process by the same command as root of its own namespaces; with ``own_network``
    in an empty network namespace, from which `ip netns` can return.

    Returns only inside. Raises NotPossible if the machine does not allow it.
    """
    if init_outside() is not None:
        return
    if is_root() and _refusal(KEEP_RIGHTS) is None:
        _become(_probe(), KEEP_RIGHTS)
    found = _refusal()
    if found is not None:
        remedy = found.remedy
        if found.obstacle is not Obstacle.CONTAINER:
            remedy = f"{run_as_root()}; or, for a run without root: {remedy}"
        wanted = "CAP_SYS_ADMIN" if is_root() else "root"
        raise NotPossible(
            "network namespaces", f"they need {wanted}, or user namespaces: {found.why}", remedy
        )
    _become(_probe(), *(["--net"] if own_network else []))


def enter_where_possible() -> None:
    """Enter namespaces without root; if the machine does not allow it, continue unchanged."""
    if init_outside() is not None or not tools.find("culvert-probe"):
        return
    if is_root() and _refusal(KEEP_RIGHTS) is None:
        return
    if _refusal() is None:
        _become(_probe())


def refusal() -> Refusal | None:
    """The refusal that an ordinary user gets here, found by trying; None if there is none.

    Root tries as another user. Raises NotPossible without the probe.
    """
    return _refusal(**_as_nobody())


def enclosing() -> list[int]:
    """The first processes of the PID namespaces of root's active runs: the kernel ends all
    processes of a namespace with its first one."""
    return [int(path.name) for path in Path("/proc").glob("[0-9]*") if _encloses(path)]


def _encloses(process: Path) -> bool:
    program = process / "exe"
    try:
        words = (process / "cmdline").read_text().split("\0")
        ids = re.search(r"^NSpid:.*\t(\d+)$", (process / "status").read_text(), re.M)
        return (
            program.readlink().name.startswith("culvert-probe")
            and words[1:3] == ["rootless", KEEP_RIGHTS]
            and ids is not None
            and ids[1] == "1"
        )
    except OSError:
        return False


def _refusal(*options: str, **as_user: Any) -> Refusal | None:
    probe = _probe()
    reader, writer = os.pipe2(os.O_CLOEXEC)
    # By descriptor: the other user may have no access to the path.
    program = os.open(probe, os.O_RDONLY | os.O_CLOEXEC)
    try:
        argv = [
            f"/proc/self/fd/{program}",
            "rootless",
            f"--report={writer}",
            *options,
            "--",
            "/bin/true",
        ]
        try:
            done = subprocess.run(
                argv,
                executable=argv[0],
                pass_fds=(writer, program),
                capture_output=True,
                check=False,
                timeout=TRIAL_DEADLINE_S,
                cwd="/",
                **as_user,
            )
        except subprocess.TimeoutExpired:
            return Refusal(Step.PROGRAM, errno.ETIME, Obstacle.OTHER, probe)
        finally:
            os.close(writer)
            os.close(program)
        report = os.read(reader, 4096)
    finally:
        os.close(reader)
    if report:
        return _understood(report, probe)
    if done.returncode != 0:
        return Refusal(Step.PROGRAM, errno.ECANCELED, Obstacle.OTHER, probe)
    return None


def _understood(report: bytes, probe: Path) -> Refusal:
    reported = read_json(report)
    step, code = Step(reported["step"]), int(reported["errno"])
    tree = Tree()
    return Refusal(step, code, obstacle(step, code, tree), probe, missing_options(step, tree))


def _become(probe: Path, *options: str) -> None:
    sys.stdout.flush()
    sys.stderr.flush()
    words = [str(probe), "rootless", *options, "--", sys.executable, *sys.orig_argv[1:]]
    os.execv(probe, words)  # noqa: S606  no shell is wanted


def _probe() -> Path:
    # Resolved: an AppArmor profile names the file, not a link to it.
    return tools.require("culvert-probe", "run `make setup`").resolve()


def _as_nobody() -> dict[str, Any]:
    if not is_root():
        return {}
    return {"user": NOBODY, "group": NOBODY, "extra_groups": ()}
