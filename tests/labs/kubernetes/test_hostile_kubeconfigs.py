"""Kubeconfigs that somebody made to do harm, or that are wrong: refused soon, in words."""

from __future__ import annotations

import json
import os
import resource
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from culvert.errors import CulvertError, NotPossible, UsageError
from culvert.labs.kubernetes.api import credentials
from culvert.labs.kubernetes.api.client import EXTRA, Api
from culvert.waiting import wait_until
from tests.cli import Cli
from tests.effort import cpu_s

pytest.importorskip("kubernetes")
SOON_S = 5.0


def config(
    *, cluster: Any = None, user: Any = None, server: str = "http://127.0.0.1:9", **more: Any
) -> dict[str, Any]:
    return {
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": server} if cluster is None else cluster}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "users": [{"name": "u", "user": {} if user is None else user}],
        **more,
    }  # fmt: skip


@pytest.fixture
def written(tmp_path: Path) -> Callable[[Any], Path]:
    def write(content: Any) -> Path:
        path = tmp_path / "config"
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    return write


def refused(path: Path | None, kind: type[CulvertError] = UsageError) -> CulvertError:
    begun = cpu_s()
    with pytest.raises(kind) as caught:
        Api.of(path).version()
    assert cpu_s() - begun < SOON_S
    assert caught.value.remedy
    assert len(str(caught.value)) < 2000
    return caught.value


TEXTS = {
    "empty": "",
    "null": "null",
    "a number": "7",
    "a list": "[]",
    "a text": "kubeconfig",
    "a zero byte": "a: \0",
    "no YAML": "a: [",
    "a tag": "!!python/object/apply:os.system ['touch pwned']",
    "a date that is none": "a: 2026-99-99",
    "two documents": "---\na: 1\n---\nb: 2\n",
}


@pytest.mark.parametrize("name", TEXTS)
def test_kubeconfigs_of_bad_text_are_refused(
    written: Callable[[Any], Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    refused(written(TEXTS[name]))
    assert not (tmp_path / "pwned").exists()


SHAPES: dict[str, dict[str, Any]] = {
    "clusters are a mapping": config(clusters={}) | {"clusters": {"name": "c"}},
    "clusters are a number": config(clusters=7),
    "clusters are null": config(clusters=None),
    "clusters are numbers": config(clusters=[1, 2]),
    "a cluster without a name": config(clusters=[{"cluster": {}}]),
    "a cluster whose name is a list": config(clusters=[{"name": ["c"], "cluster": {}}]),
    "a cluster that is a text": config(cluster="x"),
    "a cluster that is a list": config(cluster=["server"]),
    "a cluster without a server": config(cluster={}),
    "contexts are numbers": config(contexts=[1]),
    "a context that is a list": config(contexts=[{"name": "c", "context": ["cluster"]}]),
    "a context without a cluster": config(contexts=[{"name": "c", "context": {}}]),
    "a context of a mapping": config(contexts=[{"name": "c", "context": {"cluster": {}}}]),
    "users are a text": config(users="u"),
    "a user that is a number": config(users=[{"name": "u", "user": 7}]),
    "no current context": config() | {"current-context": None},
    "a current context that is a list": config() | {"current-context": ["c"]},
    "a server that is a number": config(cluster={"server": 7}),
    "a server that is a list": config(cluster={"server": ["x"]}),
    "an authority that is a number": config(
        cluster={"server": "https://x", "certificate-authority-data": 7}
    ),
    "an authority that is missing": config(
        cluster={"server": "https://x", "certificate-authority": "nowhere"}
    ),
    "a certificate that is a list": config(
        cluster={"server": "https://x"}, user={"client-certificate": ["x"]}
    ),
    "a file of a token that is missing": config(user={"tokenFile": "nowhere"}),
    "a file of a token that is a number": config(user={"tokenFile": 7}),
    "a password that is a number": config(user={"username": "x", "password": 7}),
    "a provider without credentials": config(user={"auth-provider": {"name": "gcp"}}),
    "a proxy of an unknown kind": config(
        cluster={"server": "http://127.0.0.1:9", "proxy-url": "gopher://x"}
    ),
}


@pytest.mark.parametrize("name", SHAPES)
def test_kubeconfigs_of_a_wrong_shape_are_refused(
    written: Callable[[Any], Path], name: str
) -> None:
    refused(written(SHAPES[name]))


REQUESTS = {
    "nobody answers": config(),
    "a server that is none": config(server="http://[::"),
    "another scheme": config(server="ftp://127.0.0.1"),
    "no scheme": config(server="nonsense"),
    "a port out of bounds": config(server="http://127.0.0.1:99999"),
    "a token with a line break": config(user={"token": "a\nHost: b"}),
    "a token that is no text": config(user={"token": {"a": 1}}),
    "an authority that is no base64": config(
        cluster={"server": "https://127.0.0.1:9", "certificate-authority-data": "!"}
    ),
    "a provider of credentials that is a list": config(user={"auth-provider": ["gcp"]}),
    "an authority that is no certificate": config(
        cluster={"server": "https://127.0.0.1:9", "certificate-authority-data": "eA=="}
    ),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_what_shows_at_the_first_request(written: Callable[[Any], Path], name: str) -> None:
    refused(written(REQUESTS[name]), CulvertError)


def special(path: Path, kind: str) -> None:
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "directory":
            path.mkdir()
        case _:
            path.symlink_to("/dev/zero")


@pytest.mark.parametrize("kind", ["pipe", "directory", "zero"])
def test_what_is_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: Callable[[Any], Path], kind: str
) -> None:
    """As the kubeconfig, and as one of several."""
    place = tmp_path / "special"
    special(place, kind)
    assert "not a file" in refused(place).why
    good = written(config())
    monkeypatch.setenv("KUBECONFIG", f"{good}:{place}")
    assert "not a file" in refused(None).why


@pytest.mark.parametrize("script", ["exec sleep 3", "sleep 3 & wait", "cat"])
def test_a_program_of_credentials_that_hangs(
    monkeypatch: pytest.MonkeyPatch, written: Callable[[Any], Path], script: str
) -> None:
    monkeypatch.setattr(credentials, "EXEC_S", 0.5)
    program = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": "sh",
        "args": ["-c", script],
    }
    path = written(config(user={"exec": program}))
    reader, writer = os.pipe()
    saved = os.dup(0)
    os.dup2(reader, 0)
    try:
        assert "did not end within" in refused(path).why
    finally:
        os.dup2(saved, 0)
        for each in (reader, writer, saved):
            os.close(each)


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("yes", "more than 1 MiB printed"),
        ("cat /dev/zero", "more than 1 MiB printed"),
        ("yes >&2", "process returned"),
        ("yes >&2 & yes; wait", "decode process output"),
        ("head -c 2000000 /dev/urandom >&2", "codec can't decode"),
    ],
)
def test_a_program_of_credentials_that_floods(
    written: Callable[[Any], Path], script: str, why: str
) -> None:
    """In few megabytes of memory."""
    program = {"apiVersion": "v1", "command": "sh", "args": ["-c", script]}
    before_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert why in refused(written(config(user={"exec": program}))).why
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kib < 64 << 10


def test_a_program_of_credentials_that_ignores_signals_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: Callable[[Any], Path]
) -> None:
    monkeypatch.setattr(credentials, "EXEC_S", 1.0)
    pid = tmp_path / "pid"
    script = f"trap '' PIPE TERM; echo $$ >{pid}; while :; do echo x; sleep 0.01; done"
    program = {"apiVersion": "v1", "command": "sh", "args": ["-c", script]}
    assert "did not end within" in refused(written(config(user={"exec": program}))).why
    running = Path("/proc") / pid.read_text().strip()
    wait_until(lambda: not running.exists(), what="the program had ended", deadline_s=60)


@pytest.mark.parametrize(
    "content",
    [
        "{}",
        '{"apiVersion": "v1"}',
        '{"apiVersion": "v2", "kind": "ExecCredential", "status": {"token": "x"}}',
        '{"apiVersion": "v1", "kind": "ExecCredential", "status": {}}',
        '{"apiVersion": "v1", "kind": "ExecCredential", "status": []}',
        "[" * 100_000,
        "",
    ],
)
def test_a_program_that_prints_no_credentials(
    tmp_path: Path, written: Callable[[Any], Path], content: str
) -> None:
    (tmp_path / "printed").write_text(content)
    program = {"apiVersion": "v1", "command": "cat", "args": [str(tmp_path / "printed")]}
    assert "credential program" in refused(written(config(user={"exec": program}))).what


def test_credentials_of_a_program_are_used(written: Callable[[Any], Path]) -> None:
    said = {
        "apiVersion": "v1",
        "kind": "ExecCredential",
        "status": {"token": "of the program"},
    }
    program = {
        "apiVersion": "v1",
        "command": "sh",
        "args": ["-c", 'test -n "$KUBERNETES_EXEC_INFO" && echo "$SAID"'],
        "env": [{"name": "SAID", "value": json.dumps(said)}],
    }
    settings = Api.of(written(config(user={"exec": program}))).client.configuration
    assert settings.get_api_key_with_prefix("BearerToken") == "Bearer of the program"


def test_a_password_in_the_servers_address_is_not_shown(written: Callable[[Any], Path]) -> None:
    for server in (
        *("http://me:secret@127.0.0.1:9", "ftp://me:secret@x", "http://me:se@cret@[::"),
        *("https://me:/secret@127.0.0.1:9", "me:secret@127.0.0.1:9", "HTTP://me:secret@x y"),
    ):
        error = refused(written(config(server=server)), CulvertError)
        assert "cret" not in f"{error} {error.remedy}"
    assert Api.of(written(config(server="http://me:secret@127.0.0.1:9"))).server == (
        "http://127.0.0.1:9"
    )
    proxy = {"server": "http://127.0.0.1:9", "proxy-url": "http://me:secret@127.0.0.1:9/"}
    assert "secret" not in str(refused(written(config(cluster=proxy)), CulvertError))


EXPIRED = """
[ -e {been} ] && exec sleep 3
touch {been}
printf '{{"kind": "ExecCredential", "apiVersion": "client.authentication.k8s.io/v1",'
printf '"status": {{"token": "secret", "expirationTimestamp": "2001-01-01T00:00:00Z"}}}}'
"""


def test_a_program_that_hangs_when_the_token_has_expired(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: Callable[[Any], Path]
) -> None:
    monkeypatch.setattr(credentials, "EXEC_S", 0.5)
    program = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": "sh",
        "args": ["-c", EXPIRED.format(been=tmp_path / "been")],
    }
    api = Api.of(written(config(user={"exec": program})))
    for _ in range(2):  # each request looks at the token
        with pytest.raises(UsageError, match="did not end within"):
            api.version()


@pytest.mark.parametrize(
    "program",
    [
        7,
        ["x"],
        {},
        {"apiVersion": "v1", "command": ["x"]},
        {"apiVersion": "v1", "command": "/nowhere/x"},
        {"apiVersion": "v1", "command": "false"},
        {"apiVersion": "v1", "command": "echo", "args": ["[]"]},
        {"apiVersion": "v1", "command": "echo", "args": 7},
        {"apiVersion": "v1", "command": "echo", "env": [1]},
    ],
)
def test_a_program_of_credentials_that_is_wrong(
    written: Callable[[Any], Path], program: Any
) -> None:
    refused(written(config(user={"exec": program})), CulvertError)


@pytest.mark.parametrize("old", [True, False])
def test_without_a_client_that_has_what_is_needed(
    written: Callable[[Any], Path], monkeypatch: pytest.MonkeyPatch, *, old: bool
) -> None:
    if old:
        monkeypatch.delattr("kubernetes.stream.ws_client.V5_CHANNEL_PROTOCOL")
    else:
        monkeypatch.setitem(sys.modules, "kubernetes.stream.ws_client", None)
    assert refused(written(config()), NotPossible).remedy == EXTRA


def test_commands_name_it(say: Cli, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "config")
    given = ("--kubeconfig", tmp_path / "config")
    for words in (
        ("kubernetes", "check", *given),
        ("run", "quick", "--lab", "kubernetes", *given),
        ("clean", *given),
    ):
        said = say(*words)
        assert said.code == 2
        assert "is not a file" in said.err
