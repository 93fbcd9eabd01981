"""Commands of one lab, and the options that labs bring."""
