"""The inbox: what waits for a person, each with its remedy, owner, runbook, price and age. Pure."""
