"""Failures into money and lost progress. Pure: the same formulas serve plans, reports and the simulation's checks."""
