"""TwinError: one sentence for the user."""


class TwinError(Exception):
    """The twin cannot do what was requested; the message says what, where and what was expected."""
