"""What goes wrong in the twin, in one sentence for the person who asked."""


class TwinError(Exception):
    """The twin cannot do what was asked; the message says what, where and what was expected."""
