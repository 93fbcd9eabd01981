"""Claims: sentences of papers and vendors, judged by what was measured."""
