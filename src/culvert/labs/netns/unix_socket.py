"""Connect to a unix socket, wherever it is: an address holds no more than 107 bytes."""

from __future__ import annotations

import os
import socket
from pathlib import Path


def connect(path: Path) -> socket.socket:
    """A stream; raises OSError where nobody listens."""
    # Through the directory's descriptor: a node's files can be deeper than an address is long.
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
