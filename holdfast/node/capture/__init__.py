"""Captured output of a node: files of other tools and our own bundles, evaluated like a live node."""
