"""A throw-away Debian root, and what is tried in it. `scripts/fresh-machine` starts it."""
