"""The node part: sources, checks, agent, probes, capture."""
