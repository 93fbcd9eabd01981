"""Streams of UDP packets and TCP connections with load, as several measurements use them."""
