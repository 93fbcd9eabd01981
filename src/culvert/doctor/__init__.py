"""The features of this machine, those that are missing, and the remedy for each."""
