"""A simulated fleet: light nodes in virtual time that speak to a controller like real agents."""
