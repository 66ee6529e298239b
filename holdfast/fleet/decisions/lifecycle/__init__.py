"""Lifecycle: events to stage and actions. Pure: the same machine runs live, in preview and in simulation."""
