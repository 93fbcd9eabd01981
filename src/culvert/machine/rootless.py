"""A command restarts itself in its own namespaces: root as it is, others as root of a user
namespace.

``culvert-probe rootless`` creates the namespaces and remains the parent: signals, the terminal, the
standard streams and the exit code pass through it, and all processes inside end with it. The
network namespace remains the machine's, for the record of the machine; a lab creates one for each
node. Files outside /run are the same, and new files belong to the user.
"""

from __future__ import annotations

import errno
import json
import os
import re
import resource
import socket
import subprocess
import sys
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from culvert import tools
from culvert.errors import NotPossible
from culvert.machine.tree import Tree
from culvert.privilege import Privilege, init_outside, is_root, privilege

TRIAL_DEADLINE_S = 10.0
NOBODY = 65534
"""The user id with which root tries what an ordinary user may do."""
APPARMOR = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns"
DEBIAN = "/proc/sys/kernel/unprivileged_userns_clone"
LIMIT = "/proc/sys/user/max_user_namespaces"
KEEP_RIGHTS = "--keep-rights"
WANTED_BUFFER_BYTES = 16 << 20
"""The receive buffer of the probe's sink of packets."""


class Step(StrEnum):
    """Steps of ``culvert-probe rootless``, in order."""

    USER_NAMESPACE = "user-namespace"
    MAPPING = "mapping"
    NAMESPACES = "namespaces"
    PROCESSES = "processes"
    RUN = "run"
    PROC = "proc"
    PROGRAM = "program"


class Obstacle(StrEnum):
    """The reason why an ordinary user gets no namespaces."""

    APPARMOR = "AppArmor"
    SWITCHED_OFF = "switched off"
    LIMIT = "limit"
    KERNEL = "kernel"
    CONTAINER = "container"
    OTHER = "other"


@dataclass(frozen=True)
class Refusal:
    """The step that the kernel refused, with the errno and the reason."""

    step: Step
    errno: int
    obstacle: Obstacle
    probe: Path

    @property
    def why(self) -> str:
        """The reason in words."""
        answer = f"{os.strerror(self.errno)}, at the step {self.step}"
        match self.obstacle:
            case Obstacle.APPARMOR:
                return f"AppArmor restricts user namespaces ({_sysctl(APPARMOR)} = 1)"
            case Obstacle.SWITCHED_OFF:
                return f"user namespaces are for root only ({_sysctl(DEBIAN)} = 0)"
            case Obstacle.LIMIT:
                return f"no user namespaces are left ({_sysctl(LIMIT)}): {answer}"
            case Obstacle.KERNEL:
                return f"this kernel has no user namespaces: {answer}"
            case Obstacle.CONTAINER:
                return f"the container does not allow new namespaces: {answer}"
            case Obstacle.OTHER:
                return f"the kernel refused: {answer}"

    @property
    def remedy(self) -> str:
        """The command that allows namespaces to an ordinary user."""
        match self.obstacle:
            case Obstacle.APPARMOR:
                return (
                    f"allow them to Culvert alone: {_profile_command(self.probe)}; or to every "
                    f"program: sudo sysctl -w {_sysctl(APPARMOR)}=0"
                )
            case Obstacle.SWITCHED_OFF:
                return f"sudo sysctl -w {_sysctl(DEBIAN)}=1"
            case Obstacle.LIMIT:
                return f"sudo sysctl -w {_sysctl(LIMIT)}=15000"
            case Obstacle.KERNEL:
                return "boot a kernel with CONFIG_USER_NS=y"
            case Obstacle.CONTAINER:
                return (
                    "docker run --security-opt seccomp=unconfined --security-opt "
                    "apparmor=unconfined --security-opt systempaths=unconfined --device "
                    "/dev/net/tun, or --privileged"
                )
            case Obstacle.OTHER:
                return "find what prevents `unshare --user --map-root-user --mount --pid --fork`"


def enter(*, own_network: bool = False) -> None:
    """Replace this process by the same command as root of its own namespaces; with ``own_network``
    in an empty network namespace, from which `ip netns` can return.

    Returns only inside. Raises NotPossible if the machine does not allow it.
    """
    if init_outside() is not None:
        return
    if is_root():
        found = _refusal(KEEP_RIGHTS)
        if found is not None:
            raise NotPossible(
                "a PID namespace for this command",
                f"{os.strerror(found.errno)}, at the step {found.step} (root needs CAP_SYS_ADMIN)",
                "run on the host, or give the container --privileged",
            )
        _become(_probe(), KEEP_RIGHTS)
    found = refusal()
    if found is not None:
        raise NotPossible(
            "network namespaces",
            f"they need root, or user namespaces: {found.why}",
            f"run it with sudo; or, for a run without root: {found.remedy}",
        )
    _become(_probe(), *(["--net"] if own_network else []))


def enter_where_possible() -> None:
    """The same; if the machine does not allow it, the command continues unchanged."""
    if privilege() is Privilege.NONE and tools.find("culvert-probe") and refusal() is None:
        _become(_probe())


def refusal() -> Refusal | None:
    """The refusal that an ordinary user gets here, found by trying; None if there is none.

    Root tries as another user. Raises NotPossible without the probe.
    """
    return _refusal(**_as_nobody())


def enclosing() -> list[int]:
    """The first processes of the PID namespaces of root's active runs: the kernel ends all
    processes of a namespace with its first one."""
    return [int(path.parent.name) for path in Path("/proc").glob("[0-9]*/exe") if _encloses(path)]


def _encloses(program: Path) -> bool:
    process = program.parent
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


def described() -> dict[str, Any]:
    """The journal's environment of a run without root; empty for root's."""
    if privilege() is not Privilege.OWN_NAMESPACES:
        return {}
    return {
        "without_root": {
            "real_time_priority": may_have_real_time(),
            "receive_buffer_bytes": largest_receive_buffer(WANTED_BUFFER_BYTES),
        }
    }


def notes() -> list[str]:
    """The limitations of a run without root here, in words with the remedy; none for root's."""
    if privilege() is not Privilege.OWN_NAMESPACES:
        return []
    found = []
    if not may_have_real_time():
        found.append(
            "without root: the link wire runs without real-time priority, its delays are less "
            f"exact on a busy machine (remedy: {REAL_TIME})"
        )
    largest = largest_receive_buffer(WANTED_BUFFER_BYTES)
    if largest < WANTED_BUFFER_BYTES:
        found.append(
            f"without root: receive buffers hold {largest} bytes instead of {WANTED_BUFFER_BYTES}, "
            f"floods of UDP may be lost at the receiver (remedy: {BUFFERS})"
        )
    return found


REAL_TIME = (
    'echo "$USER - rtprio 1" | sudo tee /etc/security/limits.d/culvert.conf, then log in anew'
)
BUFFERS = f"sudo sysctl -w net.core.rmem_max={WANTED_BUFFER_BYTES}"


def may_have_real_time() -> bool:
    """Whether our threads may have the lowest real-time priority (sched(7))."""
    return is_root() or resource.getrlimit(resource.RLIMIT_RTPRIO)[0] != 0


def largest_receive_buffer(wanted_bytes: int) -> int:
    """Receive buffer that a socket gets if it requests ``wanted_bytes`` (socket(7), SO_RCVBUF)."""
    so_rcvbufforce = 33
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as tried:
        try:
            tried.setsockopt(socket.SOL_SOCKET, so_rcvbufforce, wanted_bytes)
        except OSError:
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, wanted_bytes)
        # The kernel reports twice the requested size, because of its own bookkeeping.
        return min(wanted_bytes, tried.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) // 2)


def obstacle(step: Step, code: int, tree: Tree) -> Obstacle:
    """The reason of a refusal, from the step, the errno and the machine's settings."""
    if tree.number(LIMIT) == 0 or code in (errno.ENOSPC, errno.EUSERS):
        return Obstacle.LIMIT
    if tree.number(DEBIAN) == 0:
        return Obstacle.SWITCHED_OFF
    if tree.number(APPARMOR) == 1 and code in (errno.EPERM, errno.EACCES):
        return Obstacle.APPARMOR
    if step is Step.USER_NAMESPACE and code in (errno.EINVAL, errno.ENOSYS):
        return Obstacle.KERNEL
    if code in (errno.EPERM, errno.EACCES) and (
        step is Step.PROC or tree.exists("/.dockerenv") or tree.exists("/run/.containerenv")
    ):
        return Obstacle.CONTAINER
    return Obstacle.OTHER


def apparmor_profile(probe: Path) -> str:
    """A profile that allows user namespaces to this program and restricts nothing."""
    return (
        "abi <abi/4.0>,\n"
        "include <tunables/global>\n"
        f'profile culvert "{probe}" flags=(unconfined) {{\n'
        "  userns,\n"
        "}\n"
    )


def _understood(report: bytes, probe: Path) -> Refusal:
    reported = json.loads(report)
    step, code = Step(reported["step"]), int(reported["errno"])
    return Refusal(step, code, obstacle(step, code, Tree()), probe)


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


def _profile_command(probe: Path) -> str:
    text = apparmor_profile(probe).replace("\n", "\\n")
    return (
        f"printf '{text}' | sudo tee /etc/apparmor.d/culvert && "
        "sudo apparmor_parser --replace /etc/apparmor.d/culvert"
    )


def _sysctl(path: str) -> str:
    return path.removeprefix("/proc/sys/").replace("/", ".")
