"""OpenSSH's client: a connection, the first contact over it, and how both fail."""
