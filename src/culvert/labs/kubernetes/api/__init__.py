"""The Kubernetes API: connections, requests with their errors in words, programs in pods."""
