"""Selects the nodes that measure the fabric next, and records the results. Pure."""
