"""Known truths beside the figures that this machine measured of them."""
