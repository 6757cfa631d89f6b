"""Simulated surveys: whether designs keep what they predict, and whether pilots pay."""
