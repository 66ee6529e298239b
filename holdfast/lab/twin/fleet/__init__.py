"""A simulated fleet: light nodes in virtual time that report to a controller like real agents."""
