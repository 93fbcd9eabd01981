"""What the run decided, and what it did not, in a few lines at the top."""

from __future__ import annotations

from dataclasses import dataclass

from culvert.analysis.headline import Headline, Question, Winner
from culvert.report.model import Data
from culvert.report.sentences import joined, kept_together, question_scale

ERROR_RATE = "Each of these statements is wrong in at most 5 of 100 such runs."
"""That of the test of a column, over all its VPNs."""


@dataclass(frozen=True)
class Conclusion:
    """Statements of one kind; ``note`` behind the last."""

    title: str
    statements: tuple[str, ...]
    note: str = ""

    def __str__(self) -> str:
        return f"{self.title}: {'; '.join(self.statements)}. {self.note}".rstrip()


def conclusion(data: Data) -> list[Conclusion]:
    """What the columns' tests decide, and between which VPNs they do not; empty where nothing
    competes."""
    decided, still_open = [], []
    for headline in data.headlines:
        where = f" ({headline.condition})" if len(data.headlines) > 1 else ""
        for question in headline.questions:
            winner = headline.winners.get(question.key)
            if winner is None or winner.contenders < 2 or not question.column.superlative:
                continue
            title = f"{_lower(question.column.superlative)}{where}"
            if winner.certain:
                figures = kept_together(_first_and_next(headline, question, winner))
                decided.append(f"{title}: {figures}")
            else:
                still_open.append(f"{title}: {_candidates(winner)}")
    found = [
        Conclusion("Decided", tuple(decided), ERROR_RATE),
        Conclusion("Not decided yet", tuple(still_open)),
    ]
    return [one for one in found if one.statements]


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]


def _candidates(winner: Winner) -> str:
    """Those of rank 1, the best median first; all of them if each may be."""
    others = [*winner.level_with, *winner.undecided]
    maybe = [vpn for vpn in others if winner.ranks[vpn].best == 1]
    if len(maybe) + 1 == winner.contenders:
        return f"any of the {winner.contenders}"
    return joined([winner.vpn, *maybe], "or")


def _first_and_next(headline: Headline, question: Question, winner: Winner) -> str:
    """``wireguard/go (412 Mbit/s), before openvpn (280 Mbit/s)``."""
    second = next(iter(winner.against))
    scale = question_scale(headline, question)
    first, following = (
        scale.text(one.value, one.low, one.high)
        for one in (winner.absolute, headline.answers[second, question.key].absolute)
    )
    return f"{winner.vpn} ({first}), before {second} ({following})"
