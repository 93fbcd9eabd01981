"""The lab ``netns``: nodes are network namespaces of this machine."""
