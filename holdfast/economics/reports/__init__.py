"""Reports: what was paid in a month, and the page of a plan."""
