"""The kernel's IPsec: XFRM, ESP with the ciphers that the drivers use, and AH."""

from __future__ import annotations

import socket
from collections.abc import Callable

from culvert.machine.check import FeatureFinding, degraded, missing, present
from culvert.machine.trials.xfrm_state import (
    XFRMA_ALG_AEAD,
    XFRMA_ALG_AUTH_TRUNC,
    XFRMA_ALG_CRYPT,
    XfrmAlgorithm,
    add,
    associations,
)

# key lengths include the 4 bytes of salt (RFC 4106, section 8.1; RFC 7634, section 2)
GCM_128 = XfrmAlgorithm(XFRMA_ALG_AEAD, "rfc4106(gcm(aes))", 16 + 4, 128)
GCM_256 = XfrmAlgorithm(XFRMA_ALG_AEAD, "rfc4106(gcm(aes))", 32 + 4, 128)
CHACHA20 = XfrmAlgorithm(XFRMA_ALG_AEAD, "rfc7539esp(chacha20,poly1305)", 32 + 4, 128)
CBC_128 = XfrmAlgorithm(XFRMA_ALG_CRYPT, "cbc(aes)", 16, None)
CBC_256 = XfrmAlgorithm(XFRMA_ALG_CRYPT, "cbc(aes)", 32, None)
NULL = XfrmAlgorithm(XFRMA_ALG_CRYPT, "ecb(cipher_null)", 0, None)
SHA256 = XfrmAlgorithm(XFRMA_ALG_AUTH_TRUNC, "hmac(sha256)", 32, 128)

ESP_SUITES = {
    "AES-128-GCM": (GCM_128,),
    "AES-256-GCM": (GCM_256,),
    "ChaCha20-Poly1305": (CHACHA20,),
    "AES-128-CBC with SHA-256": (CBC_128, SHA256),
    "AES-256-CBC with SHA-256": (CBC_256, SHA256),
    "no cipher with SHA-256": (NULL, SHA256),
}


def xfrm() -> FeatureFinding:
    """The kernel's IPsec databases."""
    associations()
    return present("the kernel answers on NETLINK_XFRM")


def esp() -> FeatureFinding:
    """ESP with each cipher; degraded if some are missing, missing if all are."""
    refusals: dict[str, OSError] = {}
    for suite, algorithms in ESP_SUITES.items():
        try:
            add(socket.IPPROTO_ESP, algorithms)
        except OSError as error:
            refusals[suite] = error
    if not refusals:
        return present(f"security associations were added: {', '.join(ESP_SUITES)}")
    if len(refusals) == len(ESP_SUITES):
        raise next(iter(refusals.values()))
    return degraded(f"without {', '.join(refusals)}")


def suite(name: str) -> Callable[[], FeatureFinding]:
    """The trial whether the kernel's ESP supports one of the ESP_SUITES."""

    def trial() -> FeatureFinding:
        add(socket.IPPROTO_ESP, ESP_SUITES[name])
        return present("a security association was added")

    return trial


def ah() -> FeatureFinding:
    """AH, which authenticates only: one of the baselines of IPsec."""
    try:
        add(socket.IPPROTO_AH, (SHA256,))
    except PermissionError:
        raise
    except OSError as error:
        return missing(f"no security association: {error.strerror}")
    return present("a security association was added: HMAC-SHA-256")
