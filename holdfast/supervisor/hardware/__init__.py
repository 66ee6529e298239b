"""Presumed hardware losses and hardware activity while an attempt runs."""
