"""Claims: sentences of papers and vendors, judged by measurements."""
