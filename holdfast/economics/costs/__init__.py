"""Failures to money and lost progress. Pure: plans, reports and simulation checks share the formulas."""
