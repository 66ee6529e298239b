"""Decisions about nodes: lifecycle, shared cause, breaker, current verdicts, repeat offenders. Pure."""
