"""Simulated hardware (`twin`), staged incidents (`drills`) and the demo."""
