"""Reads, checks and previews a policy."""
