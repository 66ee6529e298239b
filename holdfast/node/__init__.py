"""What runs on a GPU node: sources, checks, agent, probes, capture."""
