"""Simulates months of a fleet in seconds. Pure: random numbers and lifecycle rules are passed in."""
