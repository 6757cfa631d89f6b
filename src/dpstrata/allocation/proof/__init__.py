"""Proofs that an allocation is optimal, or how close it comes; they know no solver."""
