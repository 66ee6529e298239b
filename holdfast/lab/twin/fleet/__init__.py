"""A simulated fleet: light nodes on a virtual clock that speak to a controller as real agents do."""
