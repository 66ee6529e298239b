"""Expected answers to the faults of the twin."""
