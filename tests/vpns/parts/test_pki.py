from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.oid import NameOID
from cryptography.x509.verification import PolicyBuilder, Store, VerificationError

from culvert.vpns.parts.pki import Authority, CertificateUsage, KeyKind

KINDS = list(KeyKind)


def load(pem: bytes) -> x509.Certificate:
    return x509.load_pem_x509_certificate(pem)


def test_a_server_passes_the_verification_that_browsers_do() -> None:
    # (which knows no Ed25519: that kind is verified by signature below)
    authority = Authority(KeyKind.SECP384R1)
    server = load(authority.issue("server.test", CertificateUsage.SERVER).certificate)
    policy = PolicyBuilder().store(Store([load(authority.certificate)]))
    chain = policy.build_server_verifier(x509.DNSName("server.test")).verify(server, [])
    assert chain == [server, load(authority.certificate)]


def test_a_client_is_no_server() -> None:
    authority = Authority(KeyKind.SECP384R1)
    client = load(authority.issue("client.test", CertificateUsage.CLIENT).certificate)
    policy = PolicyBuilder().store(Store([load(authority.certificate)]))
    with pytest.raises(VerificationError):
        policy.build_server_verifier(x509.DNSName("client.test")).verify(client, [])
    assert policy.build_client_verifier().verify(client, []).chain[0] == client


@pytest.mark.parametrize("kind", KINDS)
def test_only_the_issuer_has_signed(kind: KeyKind) -> None:
    authority, stranger = Authority(kind), Authority(kind)
    end = load(authority.issue("a", CertificateUsage.CLIENT).certificate)
    end.verify_directly_issued_by(load(authority.certificate))
    with pytest.raises(Exception):  # noqa: B017, PT011 - InvalidSignature, or ValueError
        end.verify_directly_issued_by(load(stranger.certificate))


@pytest.mark.parametrize("kind", KINDS)
def test_the_key_belongs_to_the_certificate_and_is_of_the_kind(kind: KeyKind) -> None:
    credential = Authority(kind).issue("a", CertificateUsage.CLIENT)
    key = serialization.load_pem_private_key(credential.key, password=None)
    certificate = load(credential.certificate)
    assert key.public_key() == certificate.public_key()
    if kind is KeyKind.ED25519:
        assert isinstance(key, ed25519.Ed25519PrivateKey)
        assert certificate.signature_hash_algorithm is None
    else:
        if kind is KeyKind.RSA_2048:
            assert isinstance(key, rsa.RSAPrivateKey)
            assert key.key_size == 2048
        else:
            assert isinstance(key, ec.EllipticCurvePrivateKey)
            assert key.curve.name == "secp384r1"
        assert certificate.signature_hash_algorithm is not None
        assert certificate.signature_hash_algorithm.name == "sha384"


@pytest.mark.parametrize("kind", KINDS)
def test_names_serials_and_constraints(kind: KeyKind) -> None:
    authority = Authority(kind)
    root = load(authority.certificate)
    ends = [
        load(authority.issue(name, CertificateUsage.SERVER).certificate) for name in ("a", "b", "b")
    ]
    assert len({certificate.serial_number for certificate in (root, *ends)}) == 4
    for name, certificate in zip("abb", ends, strict=True):
        (attribute,) = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
        assert attribute.value == name
        constraints = certificate.extensions.get_extension_for_class(x509.BasicConstraints)
        assert not constraints.value.ca
        usage = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
        assert list(usage) == [CertificateUsage.SERVER.value]
    assert root.extensions.get_extension_for_class(x509.BasicConstraints).value.ca


def test_valid_a_little_before_now_and_not_for_long() -> None:
    now = datetime(2026, 11, 20, 12, tzinfo=UTC)
    authority = Authority(KeyKind.ED25519, now=now)
    for pem in (authority.certificate, authority.issue("a", CertificateUsage.CLIENT).certificate):
        certificate = load(pem)
        assert certificate.not_valid_before_utc <= now - timedelta(minutes=5)
        assert timedelta(days=1) <= certificate.not_valid_after_utc - now <= timedelta(days=30)
