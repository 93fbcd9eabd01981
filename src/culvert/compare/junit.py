"""A comparison as JUnit XML, which CI systems show as tests."""

from __future__ import annotations

from xml.etree.ElementTree import Element, SubElement, indent, tostring

from culvert.analysis.compare.verdict import Change
from culvert.compare.outcome import CompareOutcome
from culvert.compare.words import WordedLine, judgements, lines, missing, summary
from culvert.console import printable


def junit(outcome: CompareOutcome) -> str:
    """One test per comparison: slower fails, if no gate judges; undecided and missing ones are
    skipped. And one per figure of the gate."""
    suite = Element("testsuite", name=f"culvert compare {_text(outcome.name)}")
    shown = lines(outcome)
    for line in shown:
        case = SubElement(
            suite, "testcase", classname=_text(line.vpn), name=_text(f"{line.cell}: {line.metric}")
        )
        if line.verdict is Change.SLOWER and not line.control and not outcome.gate:
            failure = SubElement(case, "failure", message=_text(_sentence(line)))
            failure.text = failure.get("message")
        elif line.verdict is Change.UNCLEAR:
            SubElement(case, "skipped", message=_text(f"cannot tell: {line.note}"))
        SubElement(case, "system-out").text = _text(_sentence(line))
    for judged, sentence in judgements(outcome):
        case = SubElement(suite, "testcase", classname="gate", name=judged.name)
        if judged.fails:
            failure = SubElement(case, "failure", message=_text(sentence))
            failure.text = failure.get("message")
        elif judged is outcome.gate[0] and outcome.undecided:
            SubElement(case, "skipped", message=_text(f"cannot tell: {sentence}"))
        SubElement(case, "system-out").text = _text(sentence)
    absent = missing(outcome)
    for one in absent:
        case = SubElement(suite, "testcase", classname="not compared", name=_text(one))
        SubElement(case, "skipped", message="it is missing on one side")
    failures = suite.findall("testcase/failure")
    skipped = suite.findall("testcase/skipped")
    counts = (("tests", len(suite)), ("failures", len(failures)), ("skipped", len(skipped)))
    for name, count in (*counts, ("errors", 0)):
        suite.set(name, str(count))
    out = SubElement(suite, "system-out")
    out.text = _text("\n".join([summary(outcome), *outcome.warnings]))
    indent(suite)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(suite, encoding="unicode") + "\n"


def _sentence(line: WordedLine) -> str:
    change = f" ({line.change})" if line.change else ""
    note = f"; {line.note}" if line.note else ""
    return f"{line.verdict}: {line.before}, then {line.after}{change}{note}"


def _text(text: str) -> str:
    """XML allows no control characters, not even escaped."""
    return printable(text).replace("\ufffe", "").replace("\uffff", "")
