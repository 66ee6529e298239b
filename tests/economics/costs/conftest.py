"""Formulas are judged by their values, not by how long a busy machine takes over them."""

from hypothesis import settings

settings.register_profile("no-clock", deadline=None)
settings.load_profile("no-clock")
