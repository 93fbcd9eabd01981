"""A run before it begins: its cells, what the machine lacks for them, and how long they take."""
