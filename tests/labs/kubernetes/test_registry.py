"""A push of an image to a registry."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from culvert.errors import LabError, UsageError
from culvert.labs.kubernetes.image import Image, archive, contents
from culvert.labs.kubernetes.registry import Reference, RegistryConnection, credentials_of, push
from tests.labs.kubernetes.registry_server import NAME, Registry, serving
from tests.labs.kubernetes.test_image import unpacked

IMAGE = Image("culvert.local/x:1", ("/x",), {"/x": b"\x7fELF" + bytes(100_000)})
SECRET = base64.b64encode(b"me:pass word").decode()


@pytest.fixture
def registry() -> Iterator[Registry]:
    with serving() as server:
        yield server


@pytest.fixture(autouse=True)
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Of docker login; it is not there yet."""
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    return tmp_path / "config.json"


def to(registry: Registry) -> Reference:
    return Reference.parse(f"{registry.host}/{NAME}:1.0")


def log_in(config: Path, registry: Registry, *, secret: str = SECRET) -> None:
    config.write_text(json.dumps({"auths": {registry.host: {"auth": secret}}}))


def test_the_registry_has_what_the_archive_has(registry: Registry) -> None:
    digest = push(IMAGE, to(registry))
    kind, manifest = registry.manifests["1.0"]
    assert kind == json.loads(manifest)["mediaType"]
    assert digest == f"sha256:{hashlib.sha256(manifest).hexdigest()}"
    files = unpacked(archive(IMAGE))
    (described,) = json.loads(files["index.json"])["manifests"]
    assert described["digest"] == digest
    pushed = {**registry.blobs, digest: manifest}
    inside = {name: blob for name, blob in files.items() if name.startswith("blobs/")}
    assert inside == {f"blobs/{name.replace(':', '/')}": blob for name, blob in pushed.items()}
    needed = json.loads(manifest)
    for blob in (needed["config"], *needed["layers"]):
        assert len(registry.blobs[blob["digest"]]) == blob["size"]


def test_what_the_registry_has_is_not_sent_again(registry: Registry) -> None:
    assert push(IMAGE, to(registry)) == push(IMAGE, to(registry))
    methods = [method for method, _ in registry.requests]
    assert methods == ["HEAD", "POST", "PUT"] * 2 + ["PUT"] + ["HEAD"] * 2 + ["PUT"]


def test_a_place_may_be_a_whole_url(registry: Registry) -> None:
    registry.place = f"http://{registry.host}{registry.place}"
    push(IMAGE, to(registry))
    assert contents(IMAGE).layer.digest in registry.blobs


def test_a_place_without_tls_is_refused(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a registry that is reached with TLS."""
    connection = RegistryConnection(Reference.parse("registry.example/x:1"), plain_http=False)
    with pytest.raises(LabError, match=r"refers to http://127\.0\.0\.1.*not encrypted"):
        connection.request("PUT", f"http://{registry.host}/x")
    assert registry.requests == []


def test_credentials_of_docker_login_are_used(registry: Registry, config: Path) -> None:
    registry.basic = SECRET
    log_in(config, registry)
    push(IMAGE, to(registry))
    assert "1.0" in registry.manifests


def test_they_are_exchanged_for_a_token_where_the_registry_wants_one(
    registry: Registry, config: Path
) -> None:
    registry.basic, registry.bearer = SECRET, "a-token"
    log_in(config, registry)
    push(IMAGE, to(registry))
    assert "1.0" in registry.manifests
    registry.basic = "others"
    with pytest.raises(LabError, match="HTTP status 401: DENIED wrong password"):
        push(IMAGE, to(registry))


def test_they_go_to_their_registry_only(registry: Registry, config: Path) -> None:
    log_in(config, registry)
    with serving() as other:
        registry.place = f"http://{other.host}{registry.place}"
        other.basic = SECRET  # it would accept them
        with pytest.raises(LabError, match="401"):
            push(IMAGE, to(registry))
        assert [method for method, _ in other.requests] == ["PUT"]


@pytest.mark.parametrize("secret", [None, base64.b64encode(b"me:wrong").decode()])
def test_without_the_right_credentials(
    registry: Registry, config: Path, secret: str | None
) -> None:
    registry.basic = SECRET
    if secret is not None:
        log_in(config, registry, secret=secret)
    with pytest.raises(LabError, match="HTTP status 401: UNAUTHORIZED log in first") as error:
        push(IMAGE, to(registry))
    assert f"docker login {registry.host}" in error.value.remedy
    assert secret is None or secret not in str(error.value) + error.value.remedy


@pytest.mark.parametrize("content", ["[]", "{", '{"auths": {"%s": {"auth": "no base64!"}}}'])
def test_a_file_of_credentials_that_is_not_one(
    registry: Registry, config: Path, content: str
) -> None:
    config.write_text(content.replace("%s", registry.host))
    with pytest.raises(UsageError, match=r"config\.json: its `auths` are not understood"):
        push(IMAGE, to(registry))


@pytest.mark.parametrize(
    ("method", "what"), [("POST", "the blob sha256:"), ("PUT", "the blob sha256:")]
)
@pytest.mark.parametrize(
    ("status", "remedy"), [(500, "log"), (503, "log"), (403, "right to push"), (404, "repository")]
)
def test_a_registry_that_fails(
    registry: Registry, method: str, what: str, status: int, remedy: str
) -> None:
    registry.failing = {method: status}
    with pytest.raises(LabError, match=f"HTTP status {status}: UNKNOWN disk is full") as error:
        push(IMAGE, to(registry))
    assert error.value.what.startswith(what)
    assert NAME in error.value.what
    assert remedy in error.value.remedy
    assert registry.manifests == {}


def test_a_registry_that_stores_something_else(registry: Registry) -> None:
    registry.stored_digest = "sha256:other"
    with pytest.raises(LabError, match="stored sha256:other instead of"):
        push(IMAGE, to(registry))


def test_no_registry_at_all() -> None:
    with pytest.raises(LabError, match="the registry localhost:9: it does not answer over http"):
        push(IMAGE, Reference.parse("localhost:9/x:1"))


def test_tls_is_used_unless_it_is_switched_off() -> None:
    with serving("127.0.0.2") as elsewhere:  # it has no TLS
        with pytest.raises(LabError, match=r"it does not answer over https: .*SSL") as error:
            push(IMAGE, to(elsewhere))
        assert "--plain-http" in error.value.remedy
        assert elsewhere.requests == []
        push(IMAGE, to(elsewhere), plain_http=True)
        assert "1.0" in elsewhere.manifests


def test_only_this_machine_is_reached_without_tls_by_itself(registry: Registry) -> None:
    with serving("127.0.0.2") as elsewhere:
        registry.place = f"http://{elsewhere.host}{registry.place}"
        with pytest.raises(LabError, match="not encrypted"):
            push(IMAGE, to(registry))
        assert elsewhere.requests == []
        push(IMAGE, to(registry), plain_http=True)


@pytest.mark.parametrize(
    "word",
    ["probe:1", "probe/x:1", "registry.example/probe", "registry.example/Probe:1", "r.e/x:", "",
     "https://registry.example/x:1", "me:secret@registry.example/x:1", "r.e/x:1\n", "r.e/../x:1"],
)  # fmt: skip
def test_what_names_no_image(word: str) -> None:
    with pytest.raises(UsageError, match="does not name an image"):
        Reference.parse(word)


def test_docker_hub_has_another_host_and_key(config: Path) -> None:
    hub = Reference.parse("docker.io/me/probe:1")
    assert (str(hub), hub.host) == ("docker.io/me/probe:1", "registry-1.docker.io")
    config.write_text(json.dumps({"auths": {"https://index.docker.io/v1/": {"auth": SECRET}}}))
    assert credentials_of(hub.registry) == SECRET
    assert credentials_of("registry.example") is None


def test_a_reference_has_its_parts() -> None:
    found = Reference.parse("registry.example:5000/team/probe:v1.2")
    assert found == Reference("registry.example:5000", "team/probe", "v1.2")
    assert (str(found), found.local) == ("registry.example:5000/team/probe:v1.2", False)
    assert Reference.parse("localhost/x:1").local
