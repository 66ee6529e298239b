"""Verdicts into stage and actions. Pure: the same machine runs in the controller, in preview and in simulation."""
