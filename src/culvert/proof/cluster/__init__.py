"""The proof in a cluster: what the nodes' own interfaces show of the traffic of pods."""
