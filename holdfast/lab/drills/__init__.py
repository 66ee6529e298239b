"""Drills: staged incidents with a known truth, and how well judgement did on them. Scoring is pure."""
