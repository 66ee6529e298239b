"""Redaction of captures: names, addresses, users, secrets, serial numbers."""
