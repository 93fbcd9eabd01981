"""A registry of images: the OCI Distribution Specification 1.1, as far as a push needs it."""
