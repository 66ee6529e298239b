"""Reports: the costs of a month, and the page of a plan."""
