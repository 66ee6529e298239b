"""Evidence of a job to ranked causes and the next step. Pure."""
