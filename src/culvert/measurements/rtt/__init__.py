"""Round trips through an idle tunnel, and beside a load."""
