"""Coordination of the supervisors of a job with several nodes."""
