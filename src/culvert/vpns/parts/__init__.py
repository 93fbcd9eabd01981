"""What several drivers use: certificates, HTTP, forwarding, numbers of ports, AES."""
