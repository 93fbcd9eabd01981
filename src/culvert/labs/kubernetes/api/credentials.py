"""Kubeconfigs, read by the official client, and the credentials that one's program gives.

The client goes on without credentials if that program fails, waits for it without an end, and keeps
all that it prints. Only this module and ``streams`` import the client at once.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NoReturn

from kubernetes.config.dateutil import parse_rfc3339
from kubernetes.config.exec_provider import ExecProvider
from kubernetes.config.kube_config import FileOrData, KubeConfigLoader, KubeConfigMerger

from culvert.errors import UsageError
from culvert.waiting import within

EXEC_S = 60.0
"""Longest time in which a program gives credentials: a user may have to log in."""

_BOUNDED = """\
exec 3>&1 4>&2
first() { head -c 1048576; [ "$(head -c 1 | wc -c)" -eq 0 ] || echo "more than 1 MiB printed" >&4; }
run() { timeout --foreground -k 1 "$0" "$@" 3>&- 4>&- 5>&- 6>&-; echo $? >&6; }
code=$({ { run "$@" 2>&1 >&5 | head -c 1048576 >&4; } 5>&1 | first >&3; } 6>&1)
exit "$code"
"""
"""A program that floods its output or its errors is ended by SIGPIPE, one that ignores this after
$0 seconds. It stays in the foreground: it may ask for a login."""


def files_of(kubeconfig: Path | None) -> list[Path]:
    """The given one; else those of $KUBECONFIG or the user's own, as far as they exist. Raises
    UsageError for one that is not a file."""
    named = os.environ.get("KUBECONFIG") or "~/.kube/config"
    paths = [Path(os.path.expanduser(name)) for name in named.split(":") if name]  # noqa: PTH111
    found = (
        [path for path in paths if os.path.lexists(path)] if kubeconfig is None else [kubeconfig]
    )
    for path in found:
        if not path.is_file():
            why = "is not a file" if os.path.lexists(path) else "the file does not exist"
            remedy = "name one with --kubeconfig, and a context in it with --context"
            raise UsageError(f"the kubeconfig {path}", why, remedy)
    return found


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
        try:
            program = ExecProvider(self._user["exec"], base, self._cluster)
            limit = str(EXEC_S + 0.5)  # later than the refusal below
            program.args = ["sh", "-c", _BOUNDED, limit, *program.args]
            self._take(within(EXEC_S, program.run), base)
        except TimeoutError:
            raise _refusal(f"it did not end within {EXEC_S:g} s") from None
        except Exception as error:  # the client checks little of what the program prints
            raise _refusal(str(error)[:200] or type(error).__name__) from error
        return True

    def _take(self, status: dict[str, Any], base: str) -> None:
        if not status.keys() & {"token", "clientCertificateData"}:
            raise ValueError("it prints no credentials")
        if "token" in status:
            self.token = f"Bearer {status['token']}"
        for key, name in (("clientCertificateData", "cert_file"), ("clientKeyData", "key_file")):
            if key in status:
                setattr(self, name, FileOrData(status, None, key, base, False).as_file())
        if "expirationTimestamp" in status:
            self.expiry = parse_rfc3339(status["expirationTimestamp"])


def _refusal(why: str) -> UsageError:
    return UsageError(
        "the kubeconfig's credential program",
        why,
        "run that program by hand: it may wait for a login, or lack one",
    )


def _refuse_gcp() -> NoReturn:
    raise UsageError(
        "the kubeconfig's auth-provider gcp",
        "it has no valid token, and clients from 1.26 on cannot refresh it",
        "use the program gke-gcloud-auth-plugin (exec)",
    )
