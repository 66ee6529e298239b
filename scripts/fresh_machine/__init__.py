"""A temporary Debian root and the tests in it. `scripts/fresh-machine` starts it."""
