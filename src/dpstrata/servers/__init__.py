"""What the servers of this package have in common: ports, security headers, and who may ask."""
