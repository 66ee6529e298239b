"""Turns findings and verdicts into priced incidents. Pure."""
