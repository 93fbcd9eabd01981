"""TCP: goodput, transactions, and the MSS that arrives."""
