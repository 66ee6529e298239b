"""Parsers: text and bytes become values and events. Pure."""
