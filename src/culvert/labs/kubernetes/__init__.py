"""The lab Kubernetes: nodes are pods of a cluster; and a cluster in namespaces to try it on."""
