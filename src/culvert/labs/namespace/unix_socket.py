"""Connect to a unix socket with a path of any length: an address holds at most 107 bytes."""

from __future__ import annotations

import os
import socket
from pathlib import Path


def connect(path: Path) -> socket.socket:
    """Connect to a stream socket; raises OSError if no process listens."""
    # Through the directory's descriptor: paths of a node's files can be longer than an address.
    directory = os.open(path.parent, os.O_PATH | os.O_DIRECTORY)
    try:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.connect(f"/proc/self/fd/{directory}/{path.name}")
        except OSError:
            connection.close()
            raise
        return connection
    finally:
        os.close(directory)
