"""Core types and wire messages. Pure: no I/O, no clock, no randomness."""
