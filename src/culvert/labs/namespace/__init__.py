"""Network namespaces of this machine: their names and owners, programs and interfaces in them."""
