"""Nebula's debug console on a node: its own SSH server, on the node's loopback address only.

One session is kept open, so that a request takes a millisecond: a prompt, the request's echo, the
reply, and the next prompt. Source: sshd/session.go and ssh.go.
"""

from __future__ import annotations

import io
import time
from collections.abc import Mapping
from contextlib import suppress
from queue import Empty, Queue
from threading import Thread
from typing import Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519

from culvert.vpns.authoring import Node, log_tail

CLIENT = "ssh"
PORT = 2222
_USER = "culvert"
_KEY, _KNOWN = "nebula/console.key", "nebula/console.known"
_PROMPT = f"{_USER}@nebula > ".encode()
_REPLY_DEADLINE_S = 5.0
_CHUNK = 65536


def configure(node: Node, port: int) -> Mapping[str, Any]:
    """Write a new key to the node, which serves both ends of the console on this port (TCP); return
    the configuration's section ``sshd``."""
    key = ed25519.Ed25519PrivateKey.generate()
    openssh, bare = serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
    private = key.private_bytes(serialization.Encoding.PEM, openssh, bare)
    public = key.public_key().public_bytes(
        serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH
    )
    path = node.write(_KEY, private, secret=True)
    node.write(_KNOWN, b"[127.0.0.1]:%d %s\n" % (port, public))
    return {
        "enabled": True,
        "listen": f"127.0.0.1:{port}",
        "host_key": str(path),
        "authorized_users": [{"user": _USER, "keys": [public.decode()]}],
    }


class Console:
    """A session, which connects when Nebula listens. Requests raise OSError while it does not, and
    after it has ended."""

    def __init__(self, node: Node, port: int) -> None:
        options = {
            "IdentityFile": node.directory / _KEY,
            "IdentitiesOnly": "yes",
            "UserKnownHostsFile": node.directory / _KNOWN,
            "GlobalKnownHostsFile": "none",
            "BatchMode": "yes",
            "LogLevel": "ERROR",
        }
        client = node.require(CLIENT, "install openssh-client")
        words = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
        self._process = node.spawn(
            [client, "-T", "-F", "none", *words, "-p", str(port), f"{_USER}@127.0.0.1"],
            name="nebula-console",
            pipes=True,
        )
        self._received: Queue[bytes] = Queue()
        Thread(target=self._receive, name="nebula-console", daemon=True).start()
        self._read_reply()

    def ask(self, request: str) -> str:
        """The reply to a request such as ``print-cert``; without its last line break."""
        self._process.stdin.write(f"{request}\n".encode())
        self._process.stdin.flush()
        return self._read_reply().removeprefix(request).strip()

    def close(self) -> None:
        """End the session."""
        self._process.stop(grace_s=0)

    def _receive(self) -> None:
        """In a thread of its own: of a host's programs the output is no file to wait for."""
        stdout = self._process.stdout
        assert isinstance(stdout, io.BufferedReader)
        with suppress(OSError, ValueError):  # closed meanwhile
            while received := stdout.read1(_CHUNK):
                self._received.put(received)
        self._received.put(b"")

    def _read_reply(self) -> str:
        """What precedes the next prompt."""
        end = time.monotonic() + _REPLY_DEADLINE_S
        seen = b""
        while not seen.endswith(_PROMPT):
            received: bytes | None = None
            with suppress(Empty):
                received = self._received.get(timeout=max(0.0, end - time.monotonic()))
            if not received:
                code = self._process.returncode()
                self.close()
                ended = "does not answer" if received is None else f"ended with code {code}"
                raise ConnectionResetError(f"Nebula's console {ended}{log_tail(self._process)}")
            seen += received
        return seen.removesuffix(_PROMPT).decode(errors="replace").replace("\r\n", "\n")
