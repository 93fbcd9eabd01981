"""Why an ordinary user gets no namespaces here, and what permits them."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from culvert.machine.tree import Tree

APPARMOR = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns"
DEBIAN = "/proc/sys/kernel/unprivileged_userns_clone"
LIMIT = "/proc/sys/user/max_user_namespaces"


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
    options: tuple[str, ...] = ()
    """Options of docker and podman that the container was started without."""

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
                options = " ".join(self.options) or "--security-opt systempaths=unconfined"
                return f"start the container with {options}; or with --privileged"
            case Obstacle.OTHER:
                return "find what prevents `unshare --user --map-root-user --mount --pid --fork`"


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
    if code in (errno.EPERM, errno.EACCES) and (step is Step.PROC or _filtered(tree)):
        return Obstacle.CONTAINER
    return Obstacle.OTHER


def missing_options(step: Step, tree: Tree) -> tuple[str, ...]:
    """Options of docker and podman without which a container refuses this step or a later one."""
    confined = (tree.text("/proc/self/attr/current") or "").endswith("(enforce)")
    # The kernel gives no fresh /proc where parts of the container's are hidden.
    mounts = tree.text("/proc/self/mountinfo") or ""
    wanted = {
        "--security-opt seccomp=unconfined": step is not Step.PROC and _filtered(tree),
        "--security-opt apparmor=unconfined": confined,
        "--security-opt systempaths=unconfined": " /proc/" in mounts,
        "--device /dev/net/tun": not tree.exists("/dev/net/tun"),
    }
    return tuple(option for option, missing in wanted.items() if missing)


def _filtered(tree: Tree) -> bool:
    """Whether system calls of this process pass through a seccomp filter."""
    return "Seccomp:\t2" in (tree.text("/proc/self/status") or "")


def apparmor_profile(probe: Path) -> str:
    """A profile that allows user namespaces to this program and restricts nothing."""
    return (
        "abi <abi/4.0>,\n"
        "include <tunables/global>\n"
        f'profile culvert "{probe}" flags=(unconfined) {{\n'
        "  userns,\n"
        "}\n"
    )


def _profile_command(probe: Path) -> str:
    text = apparmor_profile(probe).replace("\n", "\\n")
    return (
        f"printf '{text}' | sudo tee /etc/apparmor.d/culvert && "
        "sudo apparmor_parser --replace /etc/apparmor.d/culvert"
    )


def _sysctl(path: str) -> str:
    return path.removeprefix("/proc/sys/").replace("/", ".")
