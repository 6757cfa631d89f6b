"""A first wave that learns how spread the answers are, and the wave that follows it."""
