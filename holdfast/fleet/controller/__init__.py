"""The controller: where reports become decisions, decisions become history, and history becomes commands."""
