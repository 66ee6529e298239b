"""Calculators of `holdfast plan`: options in, answers with their assumptions out. Pure."""
