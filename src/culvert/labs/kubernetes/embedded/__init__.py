"""The embedded cluster: upstream Kubernetes in namespaces of this machine."""
