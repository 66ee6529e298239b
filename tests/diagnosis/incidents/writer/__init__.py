"""Writes the incident folders: lines in the formats of the real programs, in words and numbers of our own."""
