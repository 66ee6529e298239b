"""Redaction of what a capture holds: names, addresses, users, secrets, serial numbers."""
