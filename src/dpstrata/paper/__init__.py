"""The paper behind dpstrata, reproduced: every table, figure and testable claim, through the public API only.

Chen, Pasupathy and Awan, "Optimal Survey Design for Private Mean Estimation", 2025, arXiv:2501.18121.
"""
