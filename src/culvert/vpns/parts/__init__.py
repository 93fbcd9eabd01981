"""What several drivers use: certificates, HTTP, servers, AES."""
