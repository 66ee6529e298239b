"""For every test: no example has a deadline. How long one takes says more of the machine than of us."""

from hypothesis import settings

settings.register_profile("holdfast", deadline=None)
settings.load_profile("holdfast")
