"""Labs: they create nodes and the links between them."""
