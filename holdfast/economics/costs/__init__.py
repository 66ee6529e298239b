"""Formulas that turn failures into money and lost progress. Pure. Plans, reports and simulations share them."""
