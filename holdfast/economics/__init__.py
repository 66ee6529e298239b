"""What failures cost: formulas, plans, simulations and reports."""
