"""The calculators of `holdfast plan`: questions as texts in, answers with their reasons out. Pure."""
