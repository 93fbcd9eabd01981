"""What a link delivers, emulated or real."""
