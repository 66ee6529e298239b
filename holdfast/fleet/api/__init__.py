"""HTTP: the public API. It reads a board that the controller keeps, and hands requests to its service."""
