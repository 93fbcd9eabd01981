"""Labs: where nodes and the links between them come from."""
