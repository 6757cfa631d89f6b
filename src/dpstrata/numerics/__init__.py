"""Array types, the walk over blocks, and products in twice the working precision."""
