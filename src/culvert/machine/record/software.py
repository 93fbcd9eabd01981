"""Versions of Culvert, and of the libraries that it and the VPNs use."""

from __future__ import annotations

import ctypes
import platform
import ssl
from dataclasses import dataclass

from culvert import __version__


@dataclass(frozen=True)
class Software:
    """``libcrypto`` is the library that the system's VPNs load; Python may carry another one,
    ``python_openssl``. The version of each VPN is a separate result, recorded in the trials."""

    culvert: str
    python: str
    python_openssl: str
    libcrypto: str | None
    libc: str | None


def read_software() -> Software:
    """Ask the libraries themselves."""
    return Software(
        culvert=__version__,
        python=platform.python_version(),
        python_openssl=ssl.OPENSSL_VERSION,
        libcrypto=_libcrypto(),
        libc=" ".join(platform.libc_ver()).strip() or None,
    )


def _libcrypto() -> str | None:
    """The version text of the libcrypto that the dynamic loader finds (OpenSSL_version(3))."""
    for name in ("libcrypto.so.3", "libcrypto.so.1.1"):
        try:
            function = ctypes.CDLL(name).OpenSSL_version
        except OSError:
            continue
        function.argtypes = [ctypes.c_int]
        function.restype = ctypes.c_char_p
        return str(function(0), "ascii")
    return None
