"""What a check finds: rules that are broken, with step, place and logs, and rules that hold."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from culvert.errors import CulvertError
from culvert.vpns.contract.place import definition, place_of
from culvert.vpns.contract.rules import Report, Rule, Violation
from culvert.vpns.contract.story import Story


class Findings:
    """Of one driver."""

    def __init__(self, driver: type, story: Story) -> None:
        self.driver = driver
        self.story = story
        self.violations: list[Violation] = []
        self.looked_at: set[Rule] = set()
        self.not_offered: dict[Rule, str] = {}

    def report(self) -> Report:
        """All of it."""
        return Report(self.violations, self.looked_at, self.not_offered)

    def broken(self, *rules: Rule) -> bool:
        """Whether one of the rules is."""
        return any(violation.rule in rules for violation in self.violations)

    def breaks(self, rule: Rule, detail: str, *, place: str = "") -> None:
        """Note a violation in the story's present step."""
        story = self.story
        place = place or definition(self.driver, *story.methods)
        found = Violation(rule, story.masked(detail), story.step, place, story.tails())
        self.violations.append(found)
        story.tell(f"BREAKS {rule.name.lower()}: {detail} ({place})")

    @contextmanager
    def guarded(self, rule: Rule) -> Iterator[None]:
        """An exception of the driver is a violation, not the end of the check; without one the rule
        has been looked at."""
        try:
            yield
        except CulvertError as error:
            place = place_of(error, self.driver, self.story.methods)
            self.breaks(rule, f"{error} ({error.remedy})", place=place)
        except Exception as error:  # a driver may raise anything
            place = place_of(error, self.driver, self.story.methods)
            name = type(error).__name__
            self.breaks(rule, f"raised {name} instead of a CulvertError: {error}", place=place)
        else:
            self.looked_at.add(rule)
