"""The client's requests to the API server, each with a deadline for the whole of it.

The client's own deadline is for each read, which a server that sends a byte at a time meets; and it
reads all that a server sends.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from culvert.waiting import within

CONTACT_S = 5.0
"""For the first answer, and the first after one that did not come."""
MOST_BYTES = 256 << 20
"""Of an answer: five thousand nodes have 80 MB."""


class TimedRequests:
    """In the place of a client's own ``request``. ``request_s`` is the deadline for a server that
    has answered before; ``answered``: whether the server did, the last time. ``enter`` moves a new
    thread into the network from which the server is reached, if it is not the machine's."""

    def __init__(
        self, client: Any, request_s: float, enter: Callable[[], None] = lambda: None
    ) -> None:
        self._request = client.rest_client.request
        self._request_s = request_s
        self.enter = enter
        self.answered = False
        client.rest_client.request = self

    def __call__(self, *args: Any, _request_timeout: float | None = None, **fields: Any) -> Any:
        """The answer, read to its end. Raises TimeoutError, ValueError if it is too large, and
        what the client raises."""
        deadline_s = _request_timeout or (self._request_s if self.answered else CONTACT_S)

        def answered() -> Any:
            self.enter()
            found = self._request(*args, _request_timeout=deadline_s, **fields)
            if found.data is None:
                found.data = found.response.read(MOST_BYTES + 1)
                found.response.release_conn()
            return found

        try:
            found = within(deadline_s, answered)
        except Exception as error:
            self.answered = False
            if isinstance(error, TimeoutError):
                raise TimeoutError(f"no answer within {deadline_s:g} s") from error
            raise
        self.answered = True
        if len(found.data) > MOST_BYTES:
            raise ValueError(f"its answer is larger than {MOST_BYTES >> 20} MiB")
        return found
