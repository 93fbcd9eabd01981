"""The contract of a measurement: a method that yields metrics.

A measurement gets a Session (a tunnel that is up, a probe on each node, the secrets that mark
packets) and parameters of its own type. It measures inside ``session.watch()``, so that CPU, drops
and the proof cover exactly the packets that it counts.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from pydantic import BaseModel, ConfigDict

from culvert.metrics import MetricSpec, Weight
from culvert.proof.known import KnownPath
from culvert.proof.truth import Truth
from culvert.topology.spec import LabSpec
from culvert.trial.outcome import Outcome
from culvert.trial.outside import LONG_RUN
from culvert.trial.session import Session

if TYPE_CHECKING:
    from pydantic import GetJsonSchemaHandler
    from pydantic.json_schema import JsonSchemaValue
    from pydantic_core import CoreSchema


def descriptions(model: type[BaseModel]) -> dict[str, str]:
    """The docstrings below a model's fields, by field, those of parent classes included; fields
    without one are left out.

    Pydantic has this as ``use_attribute_docstrings``, but reads the source when a class is defined:
    each command would take that time, and only documents need it.
    """
    found: dict[str, str] = {}
    for one in reversed(model.__mro__):
        if issubclass(one, BaseModel) and one is not BaseModel:
            found |= _own(one)
    return {name: text for name, text in found.items() if name in model.model_fields}


def _own(model: type[BaseModel]) -> dict[str, str]:
    try:
        (tree,) = ast.parse(textwrap.dedent(inspect.getsource(model))).body
    except (OSError, TypeError, SyntaxError):  # a class without a source file
        return {}
    body = tree.body if isinstance(tree, ast.ClassDef) else []
    return {
        field.target.id: inspect.cleandoc(text.value.value)
        for field, text in pairwise(body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
        and isinstance(text.value.value, str)
    }


class BaseParameters(BaseModel):
    """Base of every measurement's parameters: an unknown key is an error.

    The docstring below a field is its description in the documentation and in the editors' schema.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        schema = handler(core_schema)
        properties = handler.resolve_ref_schema(schema)["properties"]
        for name, text in descriptions(cls).items():
            properties[cls.model_fields[name].alias or name].setdefault("description", text)
        return schema


P = TypeVar("P", bound=BaseParameters)
SAMPLE_ONE_IN = 64
"""Packets of which captures take one beside a load that fills the tunnel (``saturates``)."""


class Measurement(ABC, Generic[P]):
    """One method."""

    kind: ClassVar[str]
    title: ClassVar[str] = ""
    """A few words for a table or a figure; without it, the kind with blanks."""
    summary: ClassVar[str]
    headline: ClassVar[str]
    """The metric that progress shows and the stopping rule uses: the name of the declared metric
    with Weight.MAIN."""
    metrics: ClassVar[Sequence[MetricSpec]] = ()
    """Each metric that an outcome may hold: claims are checked against it before anything runs, and
    reports and comparisons are derived from it. Those of EVERY_TRIAL need no declaration. Empty:
    claims are not checked."""
    Parameters: ClassVar[type[BaseParameters]]
    drives_tunnel: ClassVar[bool] = False
    """True if it brings the tunnel up and down itself (initiation)."""
    joins_members: ClassVar[bool] = False
    """True if it also makes the members join: only the servers run when it begins."""
    of_the_link: ClassVar[bool] = False
    """True if it measures the link itself: no firewall, NAT or block applies to its packets."""
    of_clusters: ClassVar[bool] = False
    """True if only the lab kubernetes has what it measures."""
    saturates: ClassVar[bool] = False
    """True if it may send as fast as the path carries: captures beside it take a sample."""
    accounts: ClassVar[bool] = True
    """False if its outcome has no accounting of both ends, with what disturbed them meanwhile: the
    trial then looks for it."""
    drives_many: ClassVar[bool] = False
    """True if one probe drives the clients of a star: they have none of their own."""

    def __init_subclass__(cls) -> None:
        """Take the name of the headline from the declared metrics."""
        main = [spec.name for spec in cls.metrics if spec.weight is Weight.MAIN]
        if main and "headline" not in vars(cls):
            cls.headline = main[0]

    @classmethod
    @abstractmethod
    def estimate_s(cls, parameters: P) -> float:
        """Seconds of measuring that one trial takes, approximately if it depends on the VPN."""

    @classmethod
    def lab(cls, spec: LabSpec, parameters: P) -> LabSpec:
        """The lab for these parameters: the study's, unless they state a part of it. Raises
        NotPossible if it cannot be measured there."""
        del parameters
        return spec

    @classmethod
    def marked_run(cls, parameters: P) -> int:
        """Bytes of the session's canary in a row in each of its packets; 0 if none have any."""
        del parameters
        return LONG_RUN

    @classmethod
    def truths(cls, known: KnownPath, parameters: P) -> Sequence[Truth]:
        """What the path fixes of the figures, whatever measures them. ``culvert doctor
        --calibrate`` compares both, and no trial counts whose figure exceeds a bound."""
        del known, parameters
        return ()

    @abstractmethod
    def run(self, session: Session, parameters: P) -> Outcome:
        """Measure once."""
