"""Connect, and pass the socket to ssh (ProxyUseFdpass in ssh_config(5)): run in the namespace of
a demonstration's controller. A program of its own, without any import of Culvert: it starts with
each connection."""

import socket
import sys

with (
    socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=10) as connection,
    socket.socket(fileno=1) as caller,
):
    connection.settimeout(None)
    socket.send_fds(caller, [b"\0"], [connection.fileno()])
