"""TwinError: one sentence for the user."""


class TwinError(Exception):
    """The twin cannot do what was asked; the message says what, where and what was expected."""
