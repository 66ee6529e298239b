"""Supervises a training command: watches it, explains its end, and restarts it or not."""
