"""A report of the contract test says of each rule what is known, and of a violation where it is."""

from __future__ import annotations

import inspect
import re
from ipaddress import IPv4Interface
from pathlib import Path

import pytest

from culvert.errors import NotPossible, VpnError
from culvert.labs.netns.lab import NetnsLab
from culvert.labs.node import Node
from culvert.runid import new_run_id
from culvert.topology.graph import Path as TrafficPath
from culvert.topology.spec import LabSpec
from culvert.vpns.contract import Report, Rule, Verdict, examine
from culvert.vpns.registry import contract_faults
from culvert.vpns.variant import Missing
from culvert.waiting import wait_until
from tests.vpns.pretender import Pretender


class EndsAtOnce(Pretender):
    def connect(self, a: Node) -> None:
        words = f"echo no route to the peer, {self.token} >&2"
        process = a.spawn(["sh", "-c", words], name="ends")
        wait_until(lambda: process.returncode() == 0, what="it ended", deadline_s=10)
        raise VpnError("pretender", "ended at once", "see its log")


class WrongAttribute(Pretender):
    def connect(self, a: Node) -> None:
        self.listen.has("a")  # type: ignore[attr-defined]


class ForgetsTheEvent(Pretender):
    def resume(self, path: TrafficPath) -> None:
        raise NotPossible("pretender", "it has no command for that", "leave it out")


class DropsForEver(ForgetsTheEvent):
    def drop(self, path: TrafficPath) -> None:
        self.leave(self.source_of(path))


class SilentAfterACrash(Pretender):
    """The other end gets packets and answers none."""

    crashed = False

    def crash(self, node: Node) -> None:
        super().crash(node)
        self.crashed = True

    def connect(self, a: Node) -> None:
        super().connect(a)
        if self.crashed:
            self.lab.b.run(["sysctl", "-q", "-w", "net.ipv4.icmp_echo_ignore_all=1"])


class LengthInWords(Pretender):
    @property
    def inner_mtu(self) -> int:
        return 1450

    def outer_length(self, inner_length: int) -> int | None:
        return f"{inner_length} + 50"  # type: ignore[return-value]


class MissesByAccident(Pretender):
    def missing(self, host: object) -> list[Missing]:
        raise KeyError("openssl")


class InnerInWords(Pretender):
    def inner(self, node: Node) -> IPv4Interface:
        return "198.19.0.1"  # type: ignore[return-value]


def report(driver: type[Pretender]) -> Report:
    def lab() -> NetnsLab:
        return NetnsLab(new_run_id(), LabSpec())

    return examine(lambda: driver(driver.variants[0]), lab)


@pytest.mark.lab
def test_rules_after_a_failed_bring_up_are_not_reached(tmp_path: Path) -> None:
    told: list[str] = []

    def lab() -> NetnsLab:
        return NetnsLab(new_run_id(), LabSpec())

    found = examine(
        lambda: EndsAtOnce(EndsAtOnce.variants[0]), lab, tell=told.append, keep=tmp_path
    )
    assert found.verdict(Rule.LIFE) is Verdict.NO
    for rule in (Rule.UP, Rule.INTERFACE, Rule.LENGTHS, Rule.COLD, Rule.CRASH, Rule.DROP):
        assert found.verdict(rule) is Verdict.NOT_REACHED, rule
    assert found.verdict(Rule.CLASS) is found.verdict(Rule.CLEAN) is Verdict.YES
    (violation,) = found.violations
    assert violation.step == "bring-up: connect(a)"
    line = inspect.getsourcelines(EndsAtOnce.connect)[1] + 4
    assert violation.place == f"{__file__}:{line}, in connect()"
    (log,) = [log for log in violation.logs if log.file == "a/logs/ends.log"]
    assert "no route to the peer" in log.lines[0]
    # each step and command is told; what is kept has the log, and no secret is anywhere
    assert any("bring-up: connect(a)" in line for line in told)
    assert any("a: $ sh -c" in line for line in told)
    kept = {path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file()}
    assert Path("a/logs/ends.log") in kept
    assert not any("key" in path.name for path in kept)
    texts = [path.read_text() for path in tmp_path.rglob("*") if path.is_file()]
    secrets = re.compile(r"\b[0-9a-f]{32}\b")
    assert not any(secrets.search(text) for text in [*texts, *told, *log.lines])


@pytest.mark.lab
def test_an_event_that_is_not_offered_is_not_kept() -> None:
    found = report(ForgetsTheEvent)
    assert found.verdict(Rule.DROP) is Verdict.NOT_OFFERED
    assert found.not_offered[Rule.DROP]
    assert found.violations == []


@pytest.mark.lab
def test_what_is_dropped_must_resume() -> None:
    found = report(DropsForEver)
    assert found.verdict(Rule.DROP) is Verdict.NO


@pytest.mark.lab
@pytest.mark.parametrize(
    ("driver", "rule", "step", "method", "words"),
    [
        (WrongAttribute, Rule.LIFE, "bring-up: connect(a)", "connect", "AttributeError"),
        (
            LengthInWords,
            Rule.LIFE,
            "bring-up: outer_length() of all lengths",
            "outer_length",
            "TypeError",
        ),
        (MissesByAccident, Rule.MISSING, "missing()", "missing", "KeyError"),
        (
            SilentAfterACrash,
            Rule.CRASH,
            "after crash 1 of node a: reach(a>b)",
            "connect",
            "a second ping was not answered either; packets of the outer flow",
        ),
    ],
)
def test_a_violation_names_step_and_line(
    driver: type[Pretender], rule: Rule, step: str, method: str, words: str
) -> None:
    (violation,) = report(driver).violations
    assert (violation.rule, violation.step) == (rule, step)
    assert words in violation.detail
    file, first = inspect.getsourcefile(driver), inspect.getsourcelines(getattr(driver, method))[1]
    lines = re.findall(rf"{re.escape(str(file))}:(\d+)", violation.place)
    assert any(first <= int(line) <= first + 1 for line in lines), violation.place


@pytest.mark.lab
def test_an_error_outside_of_the_driver_names_its_class_too() -> None:
    (violation,) = report(InnerInWords).violations
    assert violation.step == "bring-up: listen(b)"
    first = inspect.getsourcelines(InnerInWords)[1]
    assert violation.place.startswith(f"{__file__}:{first}, class InnerInWords")
    assert re.search(r"raised at .*/vxlan\.py:\d+$", violation.place)


class MethodForProperty(Pretender):
    def outer_flow(self) -> None:  # type: ignore[override]
        return None


class PropertyForMethod(Pretender):
    @property
    def is_handshake(self) -> bool:  # type: ignore[override]
        return True


class AttributeForMethod(Pretender):
    route = "direct"  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("driver", "words"),
    [
        (MethodForProperty, "outer_flow is a method"),
        (PropertyForMethod, "is_handshake is no method"),
        (AttributeForMethod, "route is no method"),
    ],
)
def test_a_property_is_not_a_method(driver: type[Pretender], words: str) -> None:
    assert any(fault.startswith(words) for fault in contract_faults(driver, driver.name))
