"""How the estimates of a survey vary together."""
