"""Drills: staged incidents with a known cause, and the score of the findings. Scoring is pure."""
