"""Checkpoints in memory, on partner nodes and in storage. Read checkpoint.py first."""
