"""Push an image to a registry: its blobs, then its manifest under the tag."""

from __future__ import annotations

from http import HTTPStatus
from urllib.parse import quote, urlsplit

from culvert.errors import LabError
from culvert.labs.kubernetes.image import Blob, Image, contents
from culvert.labs.kubernetes.registry.connection import RegistryConnection
from culvert.labs.kubernetes.registry.reference import Reference


def push(image: Image, to: Reference, *, plain_http: bool = False) -> str:
    """Push; returns the digest of its manifest. With TLS, unless the registry is on this machine
    or ``plain_http``. Raises LabError with the registry's reason, UsageError."""
    connection = RegistryConnection(to, plain_http=plain_http)
    made = contents(image)
    for blob in (made.layer, made.config):
        _push_blob(connection, to, blob)
    manifest = made.manifest
    url = f"/v2/{to.name}/manifests/{to.tag}"
    answer = connection.request("PUT", url, manifest.content, {"Content-Type": manifest.kind})
    connection.require(answer, "the manifest", HTTPStatus.CREATED)
    stored = answer.headers.get("Docker-Content-Digest", manifest.digest)
    if stored != manifest.digest:
        raise LabError(
            f"the manifest to {to}",
            f"the registry stored {stored[:100]} instead of {manifest.digest}",
            "see the registry's log: what it stores is not what was sent",
        )
    return manifest.digest


def _push_blob(connection: RegistryConnection, to: Reference, blob: Blob) -> None:
    """Unless the registry has it."""
    what = f"the blob {blob.digest[:19]}"
    if connection.request("HEAD", f"/v2/{to.name}/blobs/{blob.digest}").status == HTTPStatus.OK:
        return
    begun = connection.request("POST", f"/v2/{to.name}/blobs/uploads/")
    connection.require(begun, what, HTTPStatus.ACCEPTED)
    where = begun.headers.get("Location", "")
    if not where:
        raise LabError(f"{what} to {to}", "the registry names no place for it", "see its log")
    joint = "&" if urlsplit(where).query else "?"
    put = connection.request(
        "PUT",
        f"{where}{joint}digest={quote(blob.digest)}",
        blob.content,
        {"Content-Type": "application/octet-stream"},
    )
    connection.require(put, what, HTTPStatus.CREATED)
