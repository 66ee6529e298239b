"""NoAnswer: a command or server did not do what was requested."""


class NoAnswer(Exception):
    """The message says why. `retryable`: the same request may succeed later. `not_begun`: the request certainly had no
    effect. The default is the safe one: a request without an answer may have had an effect."""

    def __init__(self, why: str, *, retryable: bool, not_begun: bool = False) -> None:
        super().__init__(why)
        self.retryable = retryable
        self.not_begun = not_begun
