"""The hosts of an Ansible inventory."""
