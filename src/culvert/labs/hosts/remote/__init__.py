"""What runs on a host for us: the agent, its programs and their streams."""
