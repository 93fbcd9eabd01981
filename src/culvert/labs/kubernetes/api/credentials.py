"""Credentials from the program that a kubeconfig names (``exec``), as client-go obtains them:
https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins

The client's own way reads all that the program prints, waits for it without an end, and goes on
without credentials if it fails. Only this module and ``streams`` import the client at once.
"""

from __future__ import annotations

import json
import os
import signal
from contextlib import suppress
from subprocess import PIPE, Popen
from typing import Any, NoReturn

from kubernetes.config.dateutil import parse_rfc3339
from kubernetes.config.exec_provider import ExecProvider
from kubernetes.config.kube_config import FileOrData, KubeConfigLoader, KubeConfigMerger

from culvert.errors import UsageError
from culvert.files.json_text import read_json
from culvert.waiting import within

EXEC_S = 60.0
"""Longest time in which a program gives credentials: a user may have to log in."""
MOST_BYTES = 1 << 20


def load(kubeconfigs: str, context: str | None, settings: Any) -> None:
    """Set the client's settings from these files (a list as in $KUBECONFIG)."""
    merged = KubeConfigMerger(kubeconfigs).config
    _Loader(merged, context, _refuse_gcp, config_base_path=None).load_and_set(settings)


class _Loader(KubeConfigLoader):  # type: ignore[misc]
    """The client's, which calls this again when a token has expired."""

    def _load_from_exec_plugin(self) -> bool:
        if "exec" not in self._user:
            return False
        base = self._get_base_path(self._cluster.path)
        status = _run(ExecProvider(self._user["exec"], base, self._cluster))
        if "token" in status:
            self.token = f"Bearer {status['token']}"
        for given, name in (("clientCertificateData", "cert_file"), ("clientKeyData", "key_file")):
            if given in status:
                file = FileOrData(status, None, given, base64_file_content=False)
                setattr(self, name, file.as_file())
        if "expirationTimestamp" in status:
            self.expiry = parse_rfc3339(status["expirationTimestamp"])
        return True


def _run(program: Any) -> dict[str, Any]:
    """The ``status`` that it prints. Raises UsageError."""
    what = f"the kubeconfig's credential program {program.args[0]}"
    remedy = "run that program by hand: it may wait for a login, or lack one"
    terminal = os.isatty(0)
    spec: dict[str, Any] = {"interactive": terminal}
    if program.cluster:
        spec["cluster"] = dict(program.cluster.value)
        for each in spec["cluster"].get("extensions") or ():
            if each["name"] == "client.authentication.k8s.io/exec":
                spec["cluster"]["config"] = each["extension"]
    info = {"apiVersion": program.api_version, "kind": "ExecCredential", "spec": spec}
    environment = {**program.env, "KUBERNETES_EXEC_INFO": json.dumps(info)}
    # A group of its own could not read from the terminal; without one, it ends with its children.
    group = None if terminal else 0
    try:
        process = Popen(
            program.args, stdout=PIPE, cwd=program.cwd, env=environment, process_group=group
        )
    except (OSError, TypeError, ValueError) as error:
        raise UsageError(what, f"it cannot be started: {error}", "correct its name") from error
    assert process.stdout is not None
    printed = process.stdout

    def read() -> bytes:
        with printed:
            text = printed.read(MOST_BYTES + 1)
            if len(text) <= MOST_BYTES:
                process.wait()
            return text

    try:
        text = within(EXEC_S, read)
    except TimeoutError:
        why = f"it did not end within {EXEC_S:g} s"
        raise UsageError(what, why, remedy) from None
    finally:
        with suppress(ProcessLookupError):
            process.kill() if group is None else os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    if len(text) > MOST_BYTES:
        raise UsageError(what, f"it prints more than {MOST_BYTES >> 20} MiB", remedy)
    if process.returncode:
        raise UsageError(what, f"it ended with code {process.returncode}", remedy)
    try:
        found = read_json(text)
        if found["apiVersion"] == program.api_version and isinstance(found["status"], dict):
            return dict(found["status"])
    except (ValueError, TypeError, KeyError):
        pass
    raise UsageError(what, f"it prints no ExecCredential of {program.api_version}", remedy)


def _refuse_gcp() -> NoReturn:
    raise UsageError(
        "the kubeconfig's auth-provider gcp",
        "it has no valid token, and Kubernetes 1.26 has removed what refreshes one",
        "use the program gke-gcloud-auth-plugin (exec)",
    )
