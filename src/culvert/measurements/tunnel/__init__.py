"""A tunnel's life: starts, events while packets go through it, the cost of silence."""
