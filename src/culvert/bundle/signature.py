"""Signatures of bundles by SSH keys: ``ssh-keygen -Y``, beside the bundle as ``BUNDLE.sig``.

The manifest detects damage; who made a bundle only a signature shows.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from culvert.errors import UsageError
from culvert.files.plain import open_plain
from culvert.tools import require

NAMESPACE = "culvert-bundle"
"""A signature for another purpose does not verify."""
_DEADLINE_S = 300.0
"""The owner of the key may have to type its passphrase."""


def signature_of(bundle: Path) -> Path:
    """Where the signature of a bundle is."""
    return bundle.with_name(f"{bundle.name}.sig")


def sign(bundle: Path, key: Path) -> bytes:
    """The signature of a bundle. ``key`` is a private key, or a public one that ssh-agent holds.

    Raises UsageError if the key cannot be used, NotPossible without ssh-keygen.
    """
    done = _ssh_keygen("sign", "-f", str(key), "-n", NAMESPACE, content=bundle)
    if done.returncode != 0 or not done.stdout:
        raise UsageError(
            str(key), f"ssh-keygen cannot sign with it: {_last(done)}", "name a private SSH key"
        )
    return done.stdout


def signer(bundle: Path, allowed: Path) -> str:
    """Who signed the bundle, by the first name that ``allowed`` (ssh-keygen(1), ALLOWED SIGNERS)
    has for the key. Raises UsageError if it is not signed by one of them."""
    signature = signature_of(bundle)
    if not signature.is_file():
        raise UsageError(str(bundle), f"it has no signature {signature.name}", "get that file too")
    if not allowed.is_file():
        raise UsageError(str(allowed), "the file does not exist", "check the path")
    names = ("-s", str(signature), "-f", str(allowed))
    found = _ssh_keygen("find-principals", *names, content=bundle)
    name = found.stdout.decode(errors="replace").splitlines()[:1]
    if found.returncode != 0 or not name:
        raise UsageError(
            str(bundle),
            f"no key in {allowed} has signed it",
            "add the author's public key to that file if you trust it",
        )
    done = _ssh_keygen("verify", *names, "-I", name[0], "-n", NAMESPACE, content=bundle)
    if done.returncode != 0:
        raise UsageError(
            str(bundle),
            f"the signature by {name[0]} does not match this file: {_last(done)}",
            "get bundle and signature from their author",
        )
    return name[0]


def _ssh_keygen(action: str, *words: str, content: Path) -> subprocess.CompletedProcess[bytes]:
    program = require("ssh-keygen", "apt-get install openssh-client")
    with open_plain(content) as file:
        command = [str(program), "-Y", action, *words]
        try:
            return subprocess.run(
                command, stdin=file, capture_output=True, timeout=_DEADLINE_S, check=False
            )
        except subprocess.TimeoutExpired as error:
            why = f"ssh-keygen waited {_DEADLINE_S:.0f} s for a passphrase or a key"
            raise UsageError(str(content), why, "load the key into ssh-agent first") from error


def _last(done: subprocess.CompletedProcess[bytes]) -> str:
    said = (done.stderr or done.stdout).decode(errors="replace").strip().splitlines()
    return said[-1] if said else f"exit code {done.returncode}"
