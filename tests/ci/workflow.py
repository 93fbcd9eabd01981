"""Runs the ``run`` steps of a composite action as GitHub's runner and act do, for tests.

Expressions that the action uses are evaluated: paths of contexts, literals, ``||``, ``&&``, ``==``,
``!=`` and ``always()``. Steps with ``uses`` are recorded.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

_EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")
_DEADLINE_S = 280


@dataclass
class Ran:
    """What happened: the steps that ran, their output, the summary, the exit code of the job."""

    steps: list[str] = field(default_factory=list)
    printed: str = ""
    summary: str = ""
    code: int = 0
    outputs: dict[str, dict[str, str]] = field(default_factory=dict)
    uploaded: str = ""


@dataclass
class Runner:
    """``temp`` is the runner's directory of files; ``github`` the context; ``path`` comes first in
    PATH."""

    action: Path
    temp: Path
    github: Mapping[str, Any]
    path: Path
    environment: Mapping[str, str] = field(default_factory=dict)

    def run(self, **inputs: str) -> Ran:
        action = yaml.safe_load(self.action.read_text())
        ran = Ran()
        self._contexts = {
            "github": {**self.github, "action_path": str(self.action.parent)},
            "steps": {},
        }
        for name, declared in action["inputs"].items():
            assert not declared.get("required") or name in inputs
        self._contexts["inputs"] = {
            name: inputs.get(name, self._filled(str(declared.get("default", ""))))
            for name, declared in action["inputs"].items()
        }
        assert set(inputs) <= set(action["inputs"])
        self._paths = [str(self.path)]
        for step in action["runs"]["steps"]:
            wanted = step.get("if", "true")
            if (ran.code and "always()" not in wanted) or not self._value(wanted):
                continue
            ran.steps.append(step["name"])
            if "uses" in step:
                ran.uploaded = self._filled(step["with"]["path"])
                continue
            code = self._step(step, ran)
            ran.code = ran.code or code
        return ran

    def _step(self, step: Mapping[str, Any], ran: Ran) -> int:
        assert "${{" not in step["run"], "an input in a script is a place for injections"
        files = {name: self.temp / name for name in ("output", "path", "summary")}
        for file in files.values():
            file.write_text("")
        given = {name: self._filled(str(text)) for name, text in step.get("env", {}).items()}
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            env={
                **os.environ,
                **self.environment,
                "PATH": os.pathsep.join([*self._paths, os.environ["PATH"]]),
                "RUNNER_TEMP": str(self.temp),
                "GITHUB_OUTPUT": str(files["output"]),
                "GITHUB_PATH": str(files["path"]),
                "GITHUB_STEP_SUMMARY": str(files["summary"]),
                **given,
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_DEADLINE_S,
            check=False,
        )
        ran.printed += done.stdout
        ran.summary += files["summary"].read_text()
        self._paths[:0] = files["path"].read_text().split()
        if "id" in step:
            lines = (line.partition("=") for line in files["output"].read_text().splitlines())
            outputs = {name: value for name, _, value in lines}
            ran.outputs[step["id"]] = outputs
            self._contexts["steps"][step["id"]] = {"outputs": outputs}
        return done.returncode

    def _filled(self, text: str) -> str:
        return _EXPRESSION.sub(lambda found: str(self._value(found[1])), text)

    def _value(self, expression: str) -> Any:
        """``||`` and ``&&`` give one of their sides, as in JavaScript; nothing is nested."""
        for sign, stop in (("||", bool), ("&&", lambda side: not side)):
            if sign in expression:
                sides = expression.split(sign)
                for side in sides:
                    value = self._value(side.strip())
                    if stop(value):
                        break
                return value
        for sign in ("==", "!="):
            if sign in expression:
                left, right = (self._value(side.strip()) for side in expression.split(sign))
                return (left == right) is (sign == "==")
        if expression.startswith("'"):
            return expression.strip("'")
        if expression in ("true", "always()"):
            return True
        found: Any = self._contexts
        for part in expression.split("."):
            found = found.get(part, "") if isinstance(found, Mapping) else ""
        return found
