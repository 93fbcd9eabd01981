"""A third party's package of VPN drivers, each of which goes wrong in a way of its own.

``python`` finds it as an installed package once ``install`` has put its metadata beside it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import threading
from pathlib import Path
from typing import ClassVar

from culvert.errors import VpnError
from culvert.labs.base import Lab
from culvert.labs.host import Host
from culvert.labs.node import Node
from culvert.vpns.facts import wait_for_fact
from culvert.vpns.variant import Missing, Variant
from culvert.vpns.wireguard.driver import WireGuard
from culvert.vpns.wireguard.variants import PORT

VARIANTS = (
    "absent",
    "raises",
    "breaks-pipe",
    "port-in-use",
    "dies-at-start",
    "dies-in-the-middle",
    "never-up",
    "hangs",
    "stays",
)
ESCAPES = "\x1b[2J\x1b]0;pwned\x07[/bold]"


class Hostile(WireGuard):
    """WireGuard with a fault, chosen by the variant."""

    name = "hostile"
    summary = "goes wrong"
    variants: ClassVar[tuple[Variant, ...]] = tuple(Variant(name, name) for name in VARIANTS)
    role = None  # type: ignore[assignment]
    up_deadline_s = 0.5

    def missing(self, host: Host) -> list[Missing]:
        if self.variant.name == "absent":
            return [Missing(f"program hostile {ESCAPES}", "get it [/red]")]
        return []

    def version(self, host: Host) -> str:
        return f"1 {ESCAPES}"

    def _program(self, host: Host) -> str | None:
        return host.find("wireguard-go")

    def listen(self, b: Node) -> None:
        if self.variant.name == "port-in-use":
            b.inside(self._take_the_port)  # type: ignore[attr-defined]
        super().listen(b)

    def connect(self, a: Node) -> None:
        match self.variant.name:
            case "raises":
                raise ValueError(f"two\nlines {ESCAPES}")
            case "breaks-pipe":
                raise BrokenPipeError(32, "Broken pipe")
            case "never-up":
                self.processes["b"][0].stop()
            case "dies-at-start":
                process = a.spawn(["sh", "-c", "echo no licence >&2; exit 7"], name="hostile")
                self.processes["a"].append(process)
                wait_for_fact(
                    lambda: None, vpn=self.id, process=process, what="it is up", deadline_s=5
                )
            case "hangs":
                print("hanging", flush=True)
                with contextlib.suppress(TimeoutError):
                    wait_for_fact(
                        lambda: None,
                        vpn=self.id,
                        process=self.processes["b"][0],
                        what="it is up",
                        deadline_s=60,
                    )
        super().connect(a)
        if self.variant.name == "dies-in-the-middle":
            pid = self.processes["a"][0].pid
            threading.Timer(0.3, os.kill, (pid, signal.SIGKILL)).start()

    def stop(self, lab: Lab) -> None:
        super().stop(lab)
        if self.variant.name == "stays":
            raise VpnError(self.id, "does not want to go", "ask again")

    def _take_the_port(self) -> None:
        self._taken = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._taken.bind(("0.0.0.0", PORT))


def install(directory: Path) -> None:
    """Make the package importable and its entry point known to whoever has it on PYTHONPATH."""
    metadata = directory / "hostile-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: hostile\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[culvert.vpns]\nhostile = hostile:Hostile\n")
    shutil.copy(__file__, directory / "hostile.py")
