"""A job's evidence -> ranked causes and the next step. Pure."""
