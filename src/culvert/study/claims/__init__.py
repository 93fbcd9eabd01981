"""Claims, published values and what is lacking; the language of tests."""
