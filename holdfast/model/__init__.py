"""The shared words. Pure: no I/O, no clock, no randomness."""
