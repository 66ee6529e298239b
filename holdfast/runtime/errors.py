"""NoAnswer: a command or server did not do what was requested."""


class NoAnswer(Exception):
    """The message says why. `retryable`: the same request may succeed later."""

    def __init__(self, why: str, *, retryable: bool) -> None:
        super().__init__(why)
        self.retryable = retryable
