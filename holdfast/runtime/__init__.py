"""Bounded I/O that the node and the fleet share: run a command, make an HTTP request, read a source."""
