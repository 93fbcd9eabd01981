"""Links between namespaces: veth pairs, with netem on them, or the wire."""
