"""The lab's kind, where installations before this version look for it."""

from culvert.labs.kubernetes.kind import Kubernetes

__all__ = ["Kubernetes"]
