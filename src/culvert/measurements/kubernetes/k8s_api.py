"""``k8s_api``: response times of the Kubernetes API, from a pod, at a fixed rate.

kjorveziroski2024 made 5,000 requests with 100 workers of hey, each of which sends one when the last
is answered: a slow answer then delays the next request, which is not counted (coordinated
omission). The probe sends each request when it is due, whatever became of those before, and counts
from then.
"""

from __future__ import annotations

import shlex
import statistics
from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, ClassVar

from pydantic import Field, model_validator

from culvert.errors import NotPossible
from culvert.labs.kubernetes.pods.manifests import AUTHORITY, BEARER
from culvert.labs.kubernetes.pods.node import PodNode
from culvert.measurements.base import BaseParameters, Measurement
from culvert.measurements.instruments.base import InstrumentError
from culvert.measurements.kubernetes import answers
from culvert.measurements.kubernetes.answers import HttpsResult, Request, Responses
from culvert.metrics import Better, Effect, HeadlineColumn, MetricSpec, Weight, family
from culvert.probe.results import parse
from culvert.proof.known import KnownPath
from culvert.proof.limits import GENERATOR
from culvert.proof.truth import Truth, exactly
from culvert.results import Label, Metric, Series, measured
from culvert.study.table import problem
from culvert.trial.check import Check
from culvert.trial.outcome import Outcome
from culvert.trial.session import Session
from culvert.units import DurationS, PerSecond

PERCENTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}
MAX_FAILED = 0.05
SLACK_S = 30.0
_HOST, _PORT = "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"


class ApiInstrument(StrEnum):
    """What makes the requests: the probe on an open schedule, or hey as in the paper."""

    PROBE = "probe"
    HEY = "hey"


class K8sApiParameters(BaseParameters):
    """Parameters of the requests."""

    requests: Annotated[int, Field(ge=1, le=1_000_000)] = 1000
    """Requests."""
    rate_per_s: Annotated[PerSecond, Field(gt=0, le=10_000)] = Field(10, alias="rate")
    """Requests per second."""
    path: Annotated[str, Field(pattern=r"^/[!-~]*$")] = "/version"
    """Path of the API that is read; without ``token`` one that needs no permission."""
    token: Annotated[bool, Label("with a token", {False: ""})] = False
    """Each request has the bearer token of the pod's service account, which needs the right to read
    the path."""
    timeout_s: Annotated[DurationS, Field(gt=0, le=300)] = Field(5.0, alias="timeout")
    """Longest time to wait for an answer."""
    instrument: ApiInstrument = ApiInstrument.PROBE
    """The program that makes the requests."""
    workers: Annotated[int, Field(ge=1, le=1000)] = 1
    """Workers of hey, which share the rate; the probe has none."""

    @model_validator(mode="after")
    def _share(self) -> K8sApiParameters:
        if self.workers > 1 and self.instrument is ApiInstrument.PROBE:
            raise problem("the probe has no workers", 'write instrument = "hey"', ["workers"])
        if self.token and self.instrument is ApiInstrument.HEY:
            why = "hey takes a token as an argument, which others on the node can read"
            raise problem(why, 'leave it out, or write instrument = "probe"', ["token"])
        if self.requests % self.workers:
            why = f"{self.requests} requests cannot be shared by {self.workers} workers"
            raise problem(why, "write a multiple of the workers", ["requests"])
        return self

    @property
    def lasting_s(self) -> float:
        """The time from the first request to the last."""
        return self.requests / self.rate_per_s


class K8sApi(Measurement[K8sApiParameters]):
    """Requests from the pod at the path's source to the API's service."""

    kind: ClassVar[str] = "k8s_api"
    title: ClassVar[str] = "Kubernetes API"
    summary: ClassVar[str] = "response times of the Kubernetes API at a fixed rate, from a pod"
    metrics: ClassVar[Sequence[MetricSpec]] = (
        MetricSpec(
            "response_p50_ms",
            "ms",
            "Response of the API, median",
            Better.LESS,
            Weight.MAIN,
            column=HeadlineColumn(
                "Kubernetes API, median",
                place=60,
                effect=Effect.DIFFERENCE,
                sentence="changes the API's median response by {}",
                unchanged="shows no difference in the API's median response {}",
            ),
            ways=2,
        ),
        MetricSpec(
            "response_p99_ms",
            "ms",
            "Response of the API, 99\u00a0%",
            Better.LESS,
            Weight.KEY,
            column=HeadlineColumn("Kubernetes API, 99\u00a0%", place=61, effect=Effect.DIFFERENCE),
            ways=2,
        ),
        *family(
            "response_{}_ms",
            "ms",
            "Response of the API",
            ("min", "mean", "p90", "max"),
            Better.LESS,
            ways=2,
        ),
        MetricSpec("requests_sent", "requests", "Requests sent"),
        MetricSpec("requests_failed", "requests", "Requests without a success", Better.LESS),
        MetricSpec("requests_late", "requests", "Requests sent 100 ms late or more"),
    )
    Parameters = K8sApiParameters
    of_clusters: ClassVar[bool] = True

    @classmethod
    def estimate_s(cls, parameters: K8sApiParameters) -> float:
        return parameters.lasting_s

    @classmethod
    def marked_run(cls, parameters: K8sApiParameters) -> int:
        del parameters
        return 0

    @classmethod
    def truths(cls, known: KnownPath, parameters: K8sApiParameters) -> Sequence[Truth]:
        words = "a request and its answer cross the links"
        return [
            *known.at_least(["response_min_ms"], "ms", known.round_trip_ns(), words),
            exactly("requests_sent", float(parameters.requests), "the schedule"),
        ]

    def run(self, session: Session, parameters: K8sApiParameters) -> Outcome:
        """Make the requests; every one is kept."""
        source = session.source
        if not isinstance(source, PodNode):
            raise NotPossible(
                "k8s_api", "it needs pods of a cluster", "run it with --lab kubernetes"
            )
        host, port = _service(source)
        request = _by_probe if parameters.instrument is ApiInstrument.PROBE else _by_hey
        with session.watch(sample_one_in=1) as watched:
            found = Responses(request(session, parameters, host, port), parameters.requests)
        times_ms = found.times_ms
        return Outcome(
            metrics=[*_times(times_ms), *_counts(found)],
            watched=[watched],
            series=series_of(found.requests, parameters.instrument),
            doubts=[_succeeded(found), *_on_time(found, parameters)],
        )


def _service(source: PodNode) -> tuple[str, int]:
    """The API's service, as every pod finds it in its environment."""
    words = source.read("/proc/self/environ").decode(errors="replace").split("\0")
    environment = dict(word.split("=", 1) for word in words if "=" in word)
    if _HOST not in environment:
        raise NotPossible("k8s_api", f"the pod has no {_HOST}", "report this")
    return environment[_HOST], int(environment.get(_PORT, "443"))


def _by_probe(
    session: Session, parameters: K8sApiParameters, host: str, port: int
) -> list[Request]:
    answer = session.a.call(
        "https",
        parameters.lasting_s + parameters.timeout_s + SLACK_S,
        to=host,
        port=port,
        path=parameters.path,
        authority_file=AUTHORITY,
        token_file=BEARER if parameters.token else None,
        rate_per_s=parameters.rate_per_s,
        count=parameters.requests,
        timeout_ms=round(1000 * parameters.timeout_s),
    )
    return answers.of_probe(parse(HttpsResult, answer))


def _by_hey(session: Session, parameters: K8sApiParameters, host: str, port: int) -> list[Request]:
    """It does not check the certificate."""
    hey = session.source.require("hey", 'use an image that has it, or instrument = "probe"')
    words = [hey, *hey_arguments(parameters), url(host, port, parameters.path)]
    timeout_s = parameters.lasting_s * 2 + parameters.timeout_s + SLACK_S
    done = session.source.run(words, timeout_s=timeout_s, check=False)
    if done.returncode != 0:
        printed = (done.stderr or done.stdout).strip()[-200:]
        raise InstrumentError("hey", printed or "it failed", f"try in the pod: {shlex.join(words)}")
    return answers.of_hey(done.stdout)


def hey_arguments(parameters: K8sApiParameters) -> list[str]:
    """All but the address; hey's rate is that of each worker."""
    each_per_s = parameters.rate_per_s / parameters.workers
    return [
        *("-n", str(parameters.requests), "-c", str(parameters.workers), "-q", f"{each_per_s:g}"),
        *("-t", str(max(round(parameters.timeout_s), 1)), "-o", "csv"),
        *("-T", "application/json", "-A", "application/json"),
    ]


def url(host: str, port: int, path: str) -> str:
    """Of a path of the API: an address of IPv6 is between brackets (RFC 3986)."""
    return f"https://{f'[{host}]' if ':' in host else host}:{port}{path}"


def _times(times_ms: Sequence[float]) -> list[Metric]:
    if not times_ms:
        return []
    values = {
        **{
            f"response_{name}_ms": answers.percentile(times_ms, share)
            for name, share in PERCENTILES.items()
        },
        "response_min_ms": times_ms[0],
        "response_mean_ms": statistics.fmean(times_ms),
        "response_max_ms": times_ms[-1],
    }
    return measured(K8sApi.metrics, values)


def _counts(found: Responses) -> list[Metric]:
    values = {
        "requests_sent": len(found.requests),
        "requests_failed": found.failed,
        "requests_late": found.late,
    }
    return measured(K8sApi.metrics, values)


def series_of(requests: Sequence[Request], instrument: ApiInstrument) -> list[Series]:
    """Every request that the instrument lists, by when it was due: its status (0 without an
    answer), how late it was sent (the probe's only: hey has no schedule), and the time of each
    answer."""
    due_ns = [one.due_ns for one in requests]
    times = [
        (one.due_ns, one.response_ns / answers.NS_PER_MS)
        for one in requests
        if one.response_ns is not None
    ]
    made = [
        Series.of("response_ms", "ms", times),
        Series("response_status", "HTTP status", due_ns, [one.status for one in requests]),
    ]
    if instrument is ApiInstrument.PROBE:
        late_ms = [one.late_ns / answers.NS_PER_MS for one in requests]
        made.append(Series("sent_late_ms", "ms", due_ns, late_ms))
    return made


def _succeeded(found: Responses) -> Check:
    refused = ", ".join(f"{count} times {status}" for status, count in found.refused.items())
    return Check(
        "the API answers",
        bool(found.times_ms) and found.failed <= MAX_FAILED * found.planned,
        f"{len(found.times_ms)} of {found.planned} requests succeeded"
        + (f"; refused: {refused}" if refused else "")
        + (f"; {found.unanswered} without an answer" if found.unanswered else ""),
        "401 and 403: bind the service account of the pods' namespace to a role that may read the "
        "path; 429: the API server limits this client, lower the rate; 500 and above: see its log",
        {"refused": {str(status): count for status, count in found.refused.items()}},
    )


def _on_time(found: Responses, parameters: K8sApiParameters) -> list[Check]:
    if parameters.instrument is not ApiInstrument.PROBE:
        return []
    return [
        Check(
            GENERATOR,
            found.late <= MAX_FAILED * max(len(found.requests), 1),
            f"{found.late} of {len(found.requests)} requests were sent 100 ms late or more",
            "lower the rate, or give the node more processor time",
        )
    ]
