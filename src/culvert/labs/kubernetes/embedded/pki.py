"""Certificates and kubeconfigs of an embedded cluster; they live as long as the cluster."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

CLOCK_SLACK = timedelta(minutes=10)
LIFETIME = timedelta(days=2)
SERVICE_KEY_BITS = 2048
_EITHER = (ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH)


class Credential(NamedTuple):
    """A certificate and its private key, as PEM; the key is a secret."""

    certificate: bytes
    key: bytes


class ClusterAuthority:
    """Signs the certificates of one cluster; its own key never leaves the process. ``server`` is
    the URL of the API server, as the nodes reach it."""

    def __init__(self, server: str) -> None:
        self._server = server
        self._key = ec.generate_private_key(ec.SECP256R1())
        name = _name("culvert")
        self._certificate = (
            _builder(name, name, self._key)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .sign(self._key, hashes.SHA256())
        )

    @property
    def certificate(self) -> bytes:
        return self._certificate.public_bytes(serialization.Encoding.PEM)

    def issue(
        self,
        user: str,
        group: str = "",
        *,
        names: Sequence[str] = (),
        addresses: Sequence[IPv4Address] = (),
    ) -> Credential:
        """For a user of the API (the common name) in a group (the organisation), who may also
        serve under these names and addresses."""
        key = ec.generate_private_key(ec.SECP256R1())
        built = (
            _builder(_name(user, group), self._certificate.subject, key)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.ExtendedKeyUsage(_EITHER), critical=False)
        )
        known = [*map(x509.DNSName, names), *map(x509.IPAddress, addresses)]
        if known:
            built = built.add_extension(x509.SubjectAlternativeName(known), critical=False)
        certificate = built.sign(self._key, hashes.SHA256())
        return Credential(certificate.public_bytes(serialization.Encoding.PEM), _private(key))

    def kubeconfig(self, credential: Credential) -> str:
        """A kubeconfig with everything in it (a secret); JSON is YAML too."""
        authority = _base64(self.certificate)
        cluster = {"server": self._server, "certificate-authority-data": authority}
        user = {
            "client-certificate-data": _base64(credential.certificate),
            "client-key-data": _base64(credential.key),
        }
        context = {"cluster": "culvert", "user": "user"}
        return json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [{"name": "culvert", "cluster": cluster}],
                "users": [{"name": "user", "user": user}],
                "contexts": [{"name": "culvert", "context": context}],
                "current-context": "culvert",
            }
        )

    def kubeconfig_of(self, user: str) -> str:
        """That of a user of Kubernetes' own, such as ``system:kube-proxy``, whose rights it knows
        by the name."""
        return self.kubeconfig(self.issue(user))


def service_account_keys() -> Credential:
    """The public and the private key with which tokens of service accounts are signed."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=SERVICE_KEY_BITS)
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return Credential(public, _private(key))


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - CLOCK_SLACK)
        .not_valid_after(now + LIFETIME)
    )


def _name(user: str, group: str = "") -> x509.Name:
    attributes = [x509.NameAttribute(NameOID.COMMON_NAME, user)]
    if group:
        attributes.append(x509.NameAttribute(NameOID.ORGANIZATION_NAME, group))
    return x509.Name(attributes)


def _private(key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )


def _base64(text: bytes) -> str:
    return base64.b64encode(text).decode()
