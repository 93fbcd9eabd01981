"""Captures that run while a tunnel may be down: nothing may leak."""

from __future__ import annotations

from culvert.proof.capture import judge_capture
from culvert.trial.check import Check
from culvert.trial.outside import View
from culvert.trial.session import Session


class EndCaptures:
    """Captures of all that the link carries towards both ends of the path, from now on."""

    def __init__(self, session: Session) -> None:
        self._vpn, self._link = session.vpn, session.link
        self._captures = {
            name: session.outside.begin(name, View.TOWARDS, record=0) for name in session.ends
        }
        for capture in self._captures.values():
            capture.ready()

    def checks(self) -> list[Check]:
        captured = {name: capture.end() for name, capture in self._captures.items()}
        return [
            check
            for name, seen in captured.items()
            for check in judge_capture(
                self._vpn,
                seen,
                f"towards {name}",
                corruption=self._link.impairment.corrupts,
                duplication=self._link.impairment.duplicates,
            )
        ]
