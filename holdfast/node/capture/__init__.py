"""Captured output of a node: files of other tools, and bundles of our own; judged as a live node is."""
