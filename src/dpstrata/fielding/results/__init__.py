"""What was published, read again, and estimated from."""
