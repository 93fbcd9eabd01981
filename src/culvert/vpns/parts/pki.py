"""Certificates for one tunnel, of an authority that lives as long as the tunnel's keys; and keys
without certificates.

X.509 by RFC 5280: the authority may sign certificates only; the certificate of each end has the
extended key usage of its role, and its name as subject alternative name.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from enum import Enum, StrEnum
from ipaddress import ip_address
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from culvert.labs.node import Node

PrivateKey = ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey | rsa.RSAPrivateKey

_NAME = "culvert"
CLOCK_SLACK = timedelta(minutes=10)
"""How far a node's clock may be behind ours."""
LIFETIME = timedelta(days=7)
"""Longer than any study, short enough that a leaked key is worthless soon."""


class KeyKind(StrEnum):
    """The types of keys."""

    SECP384R1 = "secp384r1"
    ED25519 = "Ed25519"
    RSA_2048 = "RSA 2048"


class CertificateUsage(Enum):
    """The role of an end, as its certificate allows it."""

    SERVER = ExtendedKeyUsageOID.SERVER_AUTH
    CLIENT = ExtendedKeyUsageOID.CLIENT_AUTH


class Credential(NamedTuple):
    """A certificate and its private key (PKCS #8, not encrypted: store it as a secret), as PEM."""

    certificate: bytes
    key: bytes


class Authority:
    """Signs the certificates of one tunnel; its own key never leaves the process."""

    def __init__(self, kind: KeyKind, now: datetime | None = None) -> None:
        self.kind = kind
        self._now = now or datetime.now(UTC)
        self._key = _generate(kind)
        self._certificate = (
            self._builder(_NAME, self._key, issuer=_subject(_NAME))
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_key_usage(signs_certificates=True), critical=True)
            .sign(self._key, _digest(kind))
        )

    @property
    def certificate(self) -> bytes:
        """The authority's own certificate, as PEM."""
        return self._certificate.public_bytes(Encoding.PEM)

    def issue(self, name: str, usage: CertificateUsage) -> Credential:
        """A new key and a certificate for an end called ``name``, which may be an address."""
        key = _generate(self.kind)
        authority_id = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        certificate = (
            self._builder(name, key, issuer=self._certificate.subject)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_key_usage(signs_certificates=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage([usage.value]), critical=False)
            .add_extension(x509.SubjectAlternativeName([_alternative(name)]), critical=False)
            .add_extension(authority_id, critical=False)
            .sign(self._key, _digest(self.kind))
        )
        return Credential(
            certificate=certificate.public_bytes(Encoding.PEM),
            key=private_pem(key),
        )

    def equip(self, node: Node, folder: str, name: str, usage: CertificateUsage) -> Credential:
        """Issue one for a node, and write certificate.pem, key.pem and authority.pem into a folder
        of its run directory."""
        issued = self.issue(name, usage)
        node.write(f"{folder}/certificate.pem", issued.certificate)
        node.write(f"{folder}/key.pem", issued.key, secret=True)
        node.write(f"{folder}/authority.pem", self.certificate)
        return issued

    def _builder(self, name: str, key: PrivateKey, *, issuer: x509.Name) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .subject_name(_subject(name))
            .issuer_name(issuer)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(self._now - CLOCK_SLACK)
            .not_valid_after(self._now + LIFETIME)
            .add_extension(
                x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False
            )
        )


def openssh_key() -> tuple[str, str]:
    """A new Ed25519 key in OpenSSH's format, private (store it as a secret) and public."""
    key = ed25519.Ed25519PrivateKey.generate()
    public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    return private_pem(key, PrivateFormat.OpenSSH).decode(), public.decode()


def rsa_key() -> tuple[str, str]:
    """A new RSA key of 2048 bits as PEM of PKCS #1, private (store it as a secret) and public."""
    key = _rsa()
    public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.PKCS1)
    return private_pem(key, PrivateFormat.TraditionalOpenSSL).decode(), public.decode()


def private_pem(key: PrivateKey, form: PrivateFormat = PrivateFormat.PKCS8) -> bytes:
    """A private key as PEM, not encrypted: store it as a secret."""
    return key.private_bytes(Encoding.PEM, form, NoEncryption())


def _generate(kind: KeyKind) -> PrivateKey:
    if kind is KeyKind.ED25519:
        return ed25519.Ed25519PrivateKey.generate()
    if kind is KeyKind.RSA_2048:
        return _rsa()
    return ec.generate_private_key(ec.SECP384R1())


def _rsa() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(65537, 2048)


def _digest(kind: KeyKind) -> hashes.SHA384 | None:
    """None for Ed25519, which hashes by itself (RFC 8410)."""
    return None if kind is KeyKind.ED25519 else hashes.SHA384()


def _subject(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _alternative(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)
