"""The public HTTP API. It reads the controller's board and passes requests to its service."""
