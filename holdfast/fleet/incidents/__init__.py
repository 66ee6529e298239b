"""Findings and verdicts become priced incidents. Pure."""
