"""The rules for a VPN driver, and what a check found about each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from enum import StrEnum


class Rule(StrEnum):
    """What a driver must do."""

    CLASS = "the class and its instances have valid declarations"
    MISSING = "missing() names each missing part and its remedy"
    VERSION = "version() is not empty"
    LIFE = "prepare, serve, join, reach, leave and stop do not fail"
    UP = "inner pings are answered when reach() returns"
    INTERFACE = "the interface exists on both nodes and is up"
    DATA_PATH = "the data path is what the driver declares"
    OVERHEAD = "outer_length() is plausible"
    LENGTHS = "outer packets are in the outer flow and have the length of outer_length()"
    HANDSHAKE = "is_handshake() recognises exactly the handshake's packets"
    SECRET_FILES = "secrets are written with secret=True and have mode 0600"  # noqa: S105
    LEAKS = "no secret is on a command line, in a log, or in a file that others can read"
    COLD = "leave() ends the tunnel and reach() is a cold start again"
    CRASH = "crash() kills a node without a packet to its peers, and it comes back"
    DROP = "drop() ends the tunnel, and resume() (or a packet, on demand) brings it back"
    ROUTE = "the path's route is what the driver claims"
    CLEAN = "stop() leaves no object, and can be called at any time"


class Verdict(StrEnum):
    """What is known of a rule after a check."""

    YES = "yes"
    NO = "no"
    NOT_REACHED = "not reached"
    NOT_OFFERED = "not offered"


@dataclass(frozen=True)
class LogTail:
    """The end of a program's log: ``file`` is its path below the run's directory."""

    file: str
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Violation:
    """A rule that the driver breaks, and how: in which step, at which place of the driver
    (``file:line``), and what its programs had written to their logs by then."""

    rule: Rule
    detail: str
    step: str = ""
    place: str = ""
    logs: tuple[LogTail, ...] = ()


@dataclass(frozen=True)
class Report:
    """A check's result. ``looked_at`` are the rules whose test came to its end."""

    violations: Sequence[Violation]
    looked_at: AbstractSet[Rule] = frozenset()
    not_offered: Mapping[Rule, str] = field(default_factory=dict)
    """Events that the driver does not offer, each with the reason."""

    def verdict(self, rule: Rule) -> Verdict:
        if any(violation.rule is rule for violation in self.violations):
            return Verdict.NO
        if rule in self.looked_at:
            return Verdict.YES
        return Verdict.NOT_OFFERED if rule in self.not_offered else Verdict.NOT_REACHED
