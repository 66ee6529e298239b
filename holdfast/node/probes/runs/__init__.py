"""Probe runs that an operator starts from one machine: a fabric sweep, fingerprints, a stress load."""
