"""A driver that keeps the contract without a VPN, and one broken driver for each rule.

It is VXLAN that claims to encrypt: it has a "handshake", a secret and a process, so that each
rule has something to look at. Not one of its claims would survive the proof.
"""

from __future__ import annotations

import secrets
import sys
from collections.abc import Sequence
from ipaddress import IPv4Interface
from typing import ClassVar

from culvert.errors import VpnError
from culvert.labs.base import Lab
from culvert.labs.host import Host
from culvert.labs.node import Node
from culvert.labs.process import Process
from culvert.topology.graph import Path
from culvert.vpns.base import underlay_address
from culvert.vpns.outer import OuterFlow, OuterPacket
from culvert.vpns.variant import Carried, DataPath, Missing, Route, Variant
from culvert.vpns.vxlan import DEVICE, PORT, Vxlan

GREETING = b"\xffHELLO"
GREET = """
import socket, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
    s.sendto(bytes.fromhex(sys.argv[1]), (sys.argv[2], int(sys.argv[3])))
"""


class Pretender(Vxlan):
    name = "pretender"
    summary = "keeps the contract, and encrypts nothing"
    variants: ClassVar[tuple[Variant, ...]] = (Variant("plain", "the only one"),)
    token: str

    def configure(self) -> None:
        super().configure()
        self.token = secrets.token_hex(16)
        for node in self.lab.members:
            node.write("pretender/key", self.token, secret=True)

    def connect(self, a: Node) -> None:
        self.greet(a, self.lab.b)
        self.greet(self.lab.b, a)
        self.processes["a"].append(a.spawn(["sleep", "300"], name="pretender"))
        super().connect(a)

    @staticmethod
    def greet(source: Node, target: Node) -> None:
        address = str(underlay_address(target))
        source.run([sys.executable, "-c", GREET, GREETING.hex(), address, str(PORT)])

    @property
    def data_path(self) -> DataPath:
        return DataPath.KERNEL

    def determine_data_path(self, node: Node) -> DataPath:
        return DataPath.KERNEL

    def is_handshake(self, packet: OuterPacket) -> bool:
        return packet.payload.startswith(GREETING)


class Proxy(Pretender):
    """Says that no ping crosses: echoes over UDP take their place."""

    carries = Carried.PAYLOAD

    def outer_length(self, inner_length: int) -> int | None:
        return None


class ProxyNeverUp(Proxy):
    def connect(self, a: Node) -> None:
        self.greet(a, self.lab.b)


class Unnamed(Pretender):
    summary = ""


class SharesState(Pretender):
    shared: ClassVar[dict[str, list[object]]] = {"a": [], "b": []}

    def __init__(self, variant: Variant, options: frozenset[str] = frozenset()) -> None:
        super().__init__(variant, options)
        self.processes = self.shared  # type: ignore[assignment]


class BadThreadPattern(Pretender):
    kernel_threads = ("kworker/[",)


class MissesSomething(Pretender):
    def missing(self, host: Host) -> list[Missing]:
        return [Missing("a licence", "buy one")]


class MissesUnclearly(Pretender):
    def missing(self, host: Host) -> list[Missing]:
        return [Missing("something", " ")]


class NoVersion(Pretender):
    def version(self, host: Host) -> str:
        return ""


class Refuses(Pretender):
    def listen(self, b: Node) -> None:
        raise VpnError("pretender", "does not feel like it", "ask again")


class Tracebacks(Pretender):
    def connect(self, a: Node) -> None:
        raise KeyError("peer")


class NeverUp(Pretender):
    def connect(self, a: Node) -> None:
        self.greet(a, self.lab.b)


class WrongAddress(Pretender):
    def inner(self, node: Node) -> IPv4Interface:
        right = super().inner(node)
        return right if node.link(DEVICE) is None else right + 7


class WrongInterface(Pretender):
    def interface(self, node: Node) -> str:
        return "pretend0"


class SilentlyUserSpace(Pretender):
    def determine_data_path(self, node: Node) -> DataPath:
        return DataPath.USER


class EncryptsNowhere(Pretender):
    @property
    def data_path(self) -> DataPath:
        return DataPath.NONE

    def determine_data_path(self, node: Node) -> DataPath:
        return DataPath.NONE


class Shrinks(Pretender):
    def outer_length(self, inner_length: int) -> int | None:
        return inner_length - 1


class FreeOfCharge(Pretender):
    def outer_length(self, inner_length: int) -> int | None:
        return inner_length


class Zigzag(Pretender):
    def outer_length(self, inner_length: int) -> int | None:
        return inner_length + (50 if inner_length % 2 else 60)


class OneByteOff(Pretender):
    def outer_length(self, inner_length: int) -> int | None:
        return inner_length + 51


class WrongOuterPort(Pretender):
    @property
    def outer_flow(self) -> OuterFlow | None:
        return OuterFlow(17, frozenset({4790}))

    def outer_length(self, inner_length: int) -> int | None:
        return None


class NoHandshake(Pretender):
    def is_handshake(self, packet: OuterPacket) -> bool:
        return False


class AllIsHandshake(Pretender):
    def is_handshake(self, packet: OuterPacket) -> bool:
        return True


class HalfAHandshake(Pretender):
    def is_handshake(self, packet: OuterPacket) -> bool:
        return packet.outgoing and super().is_handshake(packet)


class StaticKey(Pretender):
    """Says that there is no handshake, and recognises one."""

    variants: ClassVar[tuple[Variant, ...]] = (
        Variant("plain", "the only one", {"key exchange": "none"}),
    )


class ReturnsEarly(Pretender):
    """The answer comes after connect() has returned."""

    def connect(self, a: Node) -> None:
        super().connect(a)
        arguments = [GREETING.hex(), str(underlay_address(a)), str(PORT)]
        late = f"import time; time.sleep(0.02)\n{GREET}"
        # It ends by itself long before the lab does.
        self.lab.b.spawn([sys.executable, "-c", late, *arguments], name="pretender-late")

    def greet(self, source: Node, target: Node) -> None:  # type: ignore[override]
        if source.name == "a":
            Pretender.greet(source, target)


class PublicSecret(Pretender):
    def configure(self) -> None:
        super().configure()
        (self.lab.a.directory / "pretender/key").chmod(0o640)


class UnmarkedKey(Pretender):
    def configure(self) -> None:
        super().configure()
        self.lab.a.write("pretender/tls.pem", "-----BEGIN PRIVATE KEY-----\nAAAA\n")


class NoSecret(Pretender):
    def configure(self) -> None:
        Vxlan.configure(self)


class SecretInArguments(Pretender):
    def listen(self, b: Node) -> None:
        super().listen(b)
        b.run(["true", self.token])


class SecretOfAProcess(Pretender):
    def listen(self, b: Node) -> None:
        super().listen(b)
        script = "import sys, time; time.sleep(300)"
        self.processes["b"].append(
            b.spawn([sys.executable, "-c", script, self.token], name="pretender-b")
        )


class SecretInLog(Pretender):
    def connect(self, a: Node) -> None:
        a.write("pretender/chatty.log", f"using key {self.token}\n", secret=False)
        super().connect(a)


class NeverDown(Pretender):
    def leave(self, a: Node) -> None:
        pass

    def connect(self, a: Node) -> None:
        if a.link(DEVICE) is None:
            super().connect(a)


class WarmStart(Pretender):
    """The second time there is no handshake."""

    greeted = False

    def greet(self, source: Node, target: Node) -> None:  # type: ignore[override]
        if source.name == "b":
            if self.greeted:
                return
            self.greeted = True
        Pretender.greet(source, target)


class SecondTimeFails(Pretender):
    connected = False

    def connect(self, a: Node) -> None:
        if self.connected:
            raise VpnError("pretender", "was connected once", "start anew")
        self.connected = True
        super().connect(a)


class SaysGoodbye(Pretender):
    """Its end is no crash: the other end is notified."""

    def crash(self, node: Node) -> None:
        for peer in self.peers(node):
            self.greet(node, peer)
        super().crash(node)


class KillsNothing(Pretender):
    def crash(self, node: Node) -> None:
        pass


class Exits(Pretender):
    """As a script that gives up."""

    def connect(self, a: Node) -> None:
        sys.exit("no route to the peer")


class StaysDown(Pretender):
    """What was dropped cannot be resumed."""

    def drop(self, path: Path) -> None:
        self.leave(self.source_of(path))

    def resume(self, path: Path) -> None:
        raise VpnError("pretender", "has forgotten its peer", "start it anew")


class DropsNothing(Pretender):
    def drop(self, path: Path) -> None:
        pass

    def resume(self, path: Path) -> None:
        pass


class DropsNothingOnDemand(DropsNothing):
    """The next packet goes through the old tunnel."""

    on_demand = True


class ResumesNothing(Pretender):
    def drop(self, path: Path) -> None:
        self.leave(self.source_of(path))

    def resume(self, path: Path) -> None:
        pass


class StaysDead(Pretender):
    """After a crash it says that it is up, and is not."""

    crashed = False

    def crash(self, node: Node) -> None:
        super().crash(node)
        self.crashed = True

    def connect(self, a: Node) -> None:
        if not self.crashed:
            super().connect(a)


class TakesAnotherWay(Pretender):
    def determine_route(self, path: Path) -> Route:
        return Route("relay")


class LeavesInterface(Pretender):
    stopping = False

    def stop(self, lab: Lab) -> None:
        self.stopping = True
        super().stop(lab)

    def sweep(self, node: Node, ended: Sequence[Process]) -> None:
        if not (self.stopping and node.name == "a"):
            super().sweep(node, ended)


class LeavesProcess(Pretender):
    def stop(self, lab: Lab) -> None:
        for node in lab.nodes.values():
            self.sweep(node, [])


class StopsOnce(Pretender):
    stopped = False

    def stop(self, lab: Lab) -> None:
        if self.stopped:
            raise VpnError("pretender", "is stopped already", "do not stop it again")
        self.stopped = True
        super().stop(lab)


class StopNeedsConnect(Pretender):
    def stop(self, lab: Lab) -> None:
        super().stop(lab)
        if not hasattr(self, "seen"):
            raise AttributeError("seen")

    def connect(self, a: Node) -> None:
        self.seen = True
        super().connect(a)
