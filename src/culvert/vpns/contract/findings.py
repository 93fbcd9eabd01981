"""What a check finds: rules that are broken, with the step, the line of the driver to look at and
logs, and rules that hold."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from culvert.defect import text_of
from culvert.errors import CulvertError, DriverError
from culvert.vpns.contract.rules import Report, Rule, Violation
from culvert.vpns.contract.story import Story
from culvert.vpns.door import is_foreign

_CONTRACT = Path(__file__).parent


class Findings:
    """Of one driver."""

    def __init__(self, driver: type, story: Story) -> None:
        self.driver = driver
        self.story = story
        self.violations: list[Violation] = []
        self.looked_at: set[Rule] = set()
        self.not_offered: dict[Rule, str] = {}

    def report(self) -> Report:
        return Report(self.violations, self.looked_at, self.not_offered)

    def broken(self, *rules: Rule) -> bool:
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
        except (Exception, SystemExit) as failure:  # a driver may raise anything
            raised = isinstance(failure, DriverError) and failure.__cause__ is not None
            error = failure.__cause__ if raised else failure
            assert error is not None
            place = place_of(error, self.driver, self.story.methods)
            if isinstance(error, CulvertError):
                self.breaks(rule, f"{error} ({error.remedy})", place=place)
            else:
                what = f"raised {type(error).__name__} instead of a CulvertError"
                self.breaks(rule, f"{what}: {text_of(error)}", place=place)
        else:
            self.looked_at.add(rule)


def place_of(error: BaseException, cls: type, methods: Iterable[str] = ()) -> str:
    """The innermost line of the driver that an exception passed through; without one, where the
    driver defines the methods of the step, and the line that raised."""
    frames = traceback.extract_tb(error.__traceback__)
    folders = {path.parent for path in map(_file, _own(cls)) if path is not None}
    for frame in reversed(frames):
        path = Path(frame.filename)
        inside = any(path.is_relative_to(folder) for folder in folders)
        if inside and not path.is_relative_to(_CONTRACT):
            return f"{path}:{frame.lineno}, in {frame.name}()"
    raised = [f"raised at {frame.filename}:{frame.lineno}" for frame in frames[-1:]]
    return "; ".join([*filter(None, [definition(cls, *methods)]), *raised])


def definition(cls: type, *methods: str) -> str:
    """Where a driver defines the methods; if it inherits all of them from Culvert, its class."""
    found = [
        f"{_line(owner, vars(owner)[name])}, {name}"
        for name in dict.fromkeys(methods)
        for owner in _own(cls)
        if name in vars(owner)
    ]
    if found or not methods:
        return "; ".join(found)
    first = _own(cls)[0]
    return f"{_line(first, first)}, class {cls.__name__} (inherits {', '.join(methods)})"


def _own(cls: type) -> Sequence[type]:
    """The driver's class, and those above it that are neither Culvert's nor Python's."""
    return [each for each in cls.__mro__ if is_foreign(each)] or [cls]


def _line(owner: type, found: object) -> str:
    while (inner := getattr(found, "fget", None) or getattr(found, "__func__", None)) is not None:
        found = inner
    for each in (found, owner):
        if inspect.isfunction(each) or inspect.isclass(each):
            try:
                _, line = inspect.getsourcelines(each)
            except (OSError, TypeError):  # made without a file
                continue
            return f"{inspect.getsourcefile(each)}:{line}"
    return owner.__module__


def _file(cls: type) -> Path | None:
    try:
        return Path(inspect.getfile(cls))
    except (OSError, TypeError):
        return None
