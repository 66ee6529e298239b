"""The inbox: items that need an operator, each with remedy, owner, runbook, price and age. Pure."""
