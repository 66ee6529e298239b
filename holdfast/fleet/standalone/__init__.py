"""`holdfast up`: controller and agent on one machine."""
