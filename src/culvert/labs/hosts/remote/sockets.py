"""A unix socket on a host, as a socket here."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress

from culvert.errors import CulvertError
from culvert.labs.hosts.remote.agent import ANSWER_S, Agent, decoded, encoded

CHUNK = 64 * 1024


def dial(agent: Agent, path: str) -> socket.socket:
    """Connect to a stream socket on the host; raises OSError if no process listens."""
    stream = agent.open("dial", path=path)
    stream.next(ANSWER_S)
    ours, theirs = socket.socketpair()
    number = stream.number

    def there() -> None:
        with suppress(OSError, CulvertError):
            while data := theirs.recv(CHUNK):
                agent.post("input", of=number, data=encoded(data))
            agent.post("close_input", of=number)

    def back() -> None:
        with suppress(OSError, CulvertError):
            while (event := stream.next(None)).get("event") == "output":
                theirs.sendall(decoded(event["data"]))
        with suppress(OSError):
            theirs.shutdown(socket.SHUT_WR)
        sender.join()  # it ends when the caller closes the socket
        stream.forget()
        with suppress(CulvertError):
            agent.post("stop", of=number, grace_ms=0)
        theirs.close()

    sender = threading.Thread(target=there, name=f"dial-{agent.name}", daemon=True)
    sender.start()
    threading.Thread(target=back, name=f"dialled-{agent.name}", daemon=True).start()
    return ours
