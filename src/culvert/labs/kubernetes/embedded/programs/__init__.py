"""The programs of the embedded cluster: from Go's modules and from Debian's packages."""
