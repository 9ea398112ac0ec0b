"""Probes: what a network's attention scores and weights have become, measured as the theory measures them."""
