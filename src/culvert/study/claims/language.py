"""The language of claims: ``udp.goodput_bps[packet_size=64]: strongswan/esp-aes128gcm > all``.

::

    test       = MEASUREMENT "." METRIC [filters] ":" comparison { "and" comparison }
    filters    = "[" key "=" value { "," key "=" value } "]"
    comparison = side ( ">" | "<" ) ( "all" | "each of" list | side [ "by" quantity ] )
               | side ( ">=" | "<=" ) NUMBER "x" side
               | side "within" SHARE "of" side
               | side "no different from" side
    side       = VPN [filters] | "best of" list | quantity
    list       = VPN [filters] { "," VPN [filters] }

A key is ``condition``, ``label.NAME`` or a parameter of the measurement. The filters of a side
override those of the test. ``all`` and ``each of`` become one comparison for each VPN: all hold.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from culvert.study.claims.names import StudyNames, UnknownNameError
from culvert.study.claims.test import (
    BestOf,
    ClaimComparison,
    ClaimTest,
    Quantity,
    Relation,
    Side,
    VpnSide,
    Where,
)
from culvert.units import QuantityError, parse_fraction


class ClaimTestError(ValueError):
    """A test that cannot be read; ``column`` counts from 1."""

    def __init__(self, column: int, why: str, remedy: str) -> None:
        super().__init__(f"column {column}: {why}")
        self.column = column
        self.why = why
        self.remedy = remedy


def parse_claim_test(text: str, names: StudyNames) -> ClaimTest:
    """Parse the text of a test with the names of a study. Raises ClaimTestError."""
    return _Parser(text, names).test()


_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_VPN = re.compile(r"[A-Za-z][A-Za-z0-9_./+@-]*")
_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")
_VALUE = re.compile(r"[^,\[\]]+")
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:e-?[0-9]+)?")
_UNIT = re.compile(r"\s*(?!(?:x|and|by|of)\b)([%A-Za-zµ/][A-Za-z/]*)?")
_SHARE = re.compile(r"[0-9]+(?:\.[0-9]+)?\s*%")
_SIGN = re.compile(r">=|<=|>|<|within\b|no\s+different\s+from\b")


class _Parser:
    def __init__(self, text: str, names: StudyNames) -> None:
        self.text = text
        self.at = 0
        self.names = names
        self.measurement = ""
        self.unit = ""
        self.where = Where()

    def test(self) -> ClaimTest:
        start, self.measurement = self.take(_WORD, "a measurement", "udp.goodput_bps: A > B")
        self.expect(".", "udp.goodput_bps: A > B")
        _, metric = self.take(_WORD, "a metric", "udp.goodput_bps: A > B")
        with self.naming(start):
            self.unit = self.names.unit_of(self.measurement, metric)
        self.where = self.filters(Where())
        self.expect(":", "udp.goodput_bps: A > B")
        comparisons = self.comparison()
        while self.keyword("and"):
            comparisons += self.comparison()
        self.skip()
        if self.at < len(self.text):
            self.fail(
                f'"{self.text[self.at :]}" follows the end of the test',
                'join comparisons with "and"',
            )
        return ClaimTest(self.measurement, metric, self.unit, tuple(comparisons))

    def comparison(self) -> list[ClaimComparison]:
        self.skip()
        start = self.at
        left = self.side()
        at, sign = self.take(_SIGN, "a relation", '">", "<", ">= 1.5 x", "within 5% of"')
        relation = Relation(" ".join(sign.split()))
        found = self.right_of(left, relation, at)
        for one in found:
            if isinstance(one.left, Quantity) and isinstance(one.right, Quantity):
                self.fail("both sides are quantities", "name a VPN on one side", start)
            if one.left == one.right:
                self.fail("both sides are the same", "compare with something else", start)
        return found

    def right_of(self, left: Side, relation: Relation, at: int) -> list[ClaimComparison]:
        if relation in (Relation.MORE, Relation.LESS):
            if self.keyword("all"):
                return [ClaimComparison(left, relation, one) for one in self.rivals_of(left, at)]
            if self.keyword("each", "of"):
                return [ClaimComparison(left, relation, one) for one in self.vpns()]
            right = self.side()
            by = self.quantity() if self.keyword("by") else None
            return [ClaimComparison(left, relation, right, by=by)]
        if relation is Relation.WITHIN:
            share_at, text = self.take(_SHARE, "a share", '"within 5% of"')
            try:
                share = parse_fraction(text)
            except QuantityError as error:
                self.fail(error.why, error.remedy, share_at)
            self.words("of", example="A within 5% of B")
            return [ClaimComparison(left, relation, self.side(), share=share)]
        if relation is Relation.SAME:
            return [ClaimComparison(left, relation, self.side())]
        factor_at, number = self.take(_NUMBER, "a factor", f"A {relation} 1.5 x B")
        if float(number) <= 0:
            self.fail("a factor must be more than 0", f"A {relation} 1.5 x B", factor_at)
        self.words("x", example=f"A {relation} 1.5 x B")
        return [ClaimComparison(left, relation, self.side(), factor=float(number))]

    def rivals_of(self, left: Side, at: int) -> list[VpnSide]:
        if not isinstance(left, VpnSide):
            self.fail('"all" is compared with one VPN', "write the VPN's id on the left", at)
        with self.naming(at):
            return [VpnSide(vpn, left.where) for vpn in self.names.rivals(left.vpn)]

    def side(self) -> Side:
        self.skip()
        if _NUMBER.match(self.text, self.at):
            return self.quantity()
        if self.keyword("best", "of"):
            return BestOf(tuple(self.vpns()))
        return self.vpn()

    def vpns(self) -> list[VpnSide]:
        found = [self.vpn()]
        while self.peek(","):
            self.at += 1
            found.append(self.vpn())
        return found

    def vpn(self) -> VpnSide:
        start, word = self.take(_VPN, "a VPN", '"wireguard/go", "best of A, B", "300Mbit/s"')
        with self.naming(start):
            vpn = self.names.vpn(word)
        return VpnSide(vpn, self.filters(self.where))

    def quantity(self) -> Quantity:
        start, number = self.take(_NUMBER, "a quantity", '"10Mbit/s"')
        found = _UNIT.match(self.text, self.at)
        unit = (found and found[1]) or ""
        if found is not None and unit:
            self.at = found.end()
        with self.naming(start):
            value = self.names.quantity(float(number), unit, self.unit)
        return Quantity(value, f"{number}{'' if unit in ('', '%') else ' '}{unit}")

    def filters(self, base: Where) -> Where:
        if not self.peek("["):
            return base
        self.at += 1
        condition, parameters, labels = base.condition, dict(base.parameters), dict(base.labels)
        while True:
            start, key = self.take(_KEY, "a key", "[condition=clean, packet_size=64]")
            self.expect("=", "[condition=clean, packet_size=64]")
            at, word = self.take(_VALUE, "a value", "[condition=clean, packet_size=64]")
            word = word.strip()
            if key == "condition":
                with self.naming(at):
                    condition = self.names.condition(word)
            elif key.startswith("label."):
                labels[key.removeprefix("label.")] = word
            else:
                with self.naming(start):
                    parameters[key] = self.names.parameter(self.measurement, key, word)
            if not self.peek(","):
                break
            self.at += 1
        self.expect("]", "[condition=clean, packet_size=64]")
        return Where(condition, tuple(sorted(parameters.items())), tuple(sorted(labels.items())))

    @contextmanager
    def naming(self, at: int) -> Iterator[None]:
        """Report an unknown name as an error at this place."""
        try:
            yield
        except UnknownNameError as error:
            self.fail(error.why, error.remedy, at)

    def keyword(self, *words: str) -> bool:
        """Whether these words come next; if so, they are consumed."""
        self.skip()
        pattern = r"\s+".join(words) + r"(?![A-Za-z0-9_./+-])"
        found = re.compile(pattern).match(self.text, self.at)
        if found is None:
            return False
        self.at = found.end()
        return True

    def words(self, word: str, *, example: str) -> None:
        if not self.keyword(word):
            self.fail(f'"{word}" is missing here', f"write it as {example}")

    def peek(self, sign: str) -> bool:
        self.skip()
        return self.text.startswith(sign, self.at)

    def expect(self, sign: str, example: str) -> None:
        if not self.peek(sign):
            self.fail(f'"{sign}" is missing here', f"write it as {example}")
        self.at += 1

    def take(self, pattern: re.Pattern[str], what: str, example: str) -> tuple[int, str]:
        """Consume the required next token; return its start and text."""
        self.skip()
        found = pattern.match(self.text, self.at)
        if found is None:
            self.fail(f"{what} is missing here", f"write it as {example}")
        start, self.at = self.at, found.end()
        return start, found[0]

    def skip(self) -> None:
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1

    def fail(self, why: str, remedy: str, at: int | None = None) -> NoReturn:
        raise ClaimTestError((self.at if at is None else at) + 1, why, remedy)
