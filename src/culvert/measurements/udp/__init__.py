"""UDP: goodput, where packets are lost, and the highest rate without loss."""
