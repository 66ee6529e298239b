"""HTTP client of the controller's API, for commands, the supervisor and scripts."""
