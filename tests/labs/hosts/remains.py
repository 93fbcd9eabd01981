"""What is on a demonstration's host: processes, network, files; to compare before and after."""

from __future__ import annotations

from pathlib import Path

from culvert.labs.hosts.demo import DemoHosts
from culvert.labs.netns.node import NetnsNode
from culvert.waiting import wait_until
from tests.labs.hosts.logins import USER

GONE_S = 30.0
"""After this time nothing may be left, however busy the machine is."""
_NETWORK = (
    ["link"],
    ["address"],
    ["rule"],
    ["route", "show", "table", "all"],
    ["xfrm", "state"],
    ["xfrm", "policy"],
)
_FIREWALL = "! command -v nft >/dev/null || nft list tables"
_SYSCTLS = "grep -rs . /proc/sys/net/ipv4/ip_forward /proc/sys/net/ipv[46]/conf || true"


def init_of(demo: DemoHosts, name: str) -> int:
    """The first process of the host's PID namespace, as seen from here."""
    (child,) = (
        Path(f"/proc/{demo.servers[name].pid}/task/{demo.servers[name].pid}/children")
        .read_text()
        .split()
    )
    return int(child)


def remains(demo: DemoHosts, name: str) -> dict[str, object]:
    """Processes but sshd's own, the network's state, and all files but those of this machine."""
    node, init = demo.node(name), init_of(demo, name)
    return {"processes": processes(init), "network": _network(node), "files": files(init)}


def files(init: int) -> list[str]:
    """In what the host does not share with this machine; without sudo's own time stamps."""
    root = Path(f"/proc/{init}/root")
    own = [root / place for place in ("tmp", "var/tmp", "run", f"home/{USER}")]
    own += (root / "run/written").glob("*/changes")  # of a Login
    found = [path for place in own for path in place.rglob("*")]
    found += (root / "dev/shm").glob("culvert-*")
    names = (str(path.relative_to(root)) for path in found)  # its init may be another one
    return sorted(name for name in names if "run/sudo" not in name)


def processes(init: int) -> list[str]:
    """Command lines of the host's processes, each once, but those of sshd."""
    namespace = Path(f"/proc/{init}/ns/pid").readlink()
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "ns/pid").readlink() != namespace:
                continue
            words = (process / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        line = b" ".join(words).decode(errors="replace").strip()
        if line and not line.startswith(("sshd:", "/usr/sbin/sshd")):
            found.append(line)
    return sorted(set(found))


def wait_unchanged(demo: DemoHosts, name: str, before: dict[str, object]) -> None:
    """Return when the host is as it was; raises DeadlineExceeded."""

    def same() -> bool:
        return remains(demo, name) == before

    try:
        wait_until(same, what=f"host {name} was as before", deadline_s=GONE_S, poll_s=0.05)
    except Exception:
        now = remains(demo, name)
        changed = {
            key: _changed(before[key], now[key]) for key in before if before[key] != now[key]
        }
        raise AssertionError(changed) from None


def _changed(before: object, now: object) -> object:
    """What went and what came; of other values than lists, both."""
    if not isinstance(before, list) or not isinstance(now, list):
        return before, now
    return [one for one in before if one not in now], [one for one in now if one not in before]


def _network(node: NetnsNode) -> list[str]:
    """One process for all of it."""
    commands = "; ".join((*(f"ip -o {' '.join(words)}" for words in _NETWORK), _SYSCTLS, _FIREWALL))
    return sorted(node.run(["sh", "-c", commands]).stdout.splitlines())
