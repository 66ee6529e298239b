"""Captured output of a node: files of other tools and our own bundles, judged like a live node."""
