"""A refusal: what a command says when it cannot do what was asked. One sentence on stderr and a non-zero exit."""


class Refusal(Exception):
    """The message names what, where and what was expected; nothing was changed."""

    def __init__(self, sentence: str, exit_code: int = 64, code: str = "") -> None:
        super().__init__(sentence)
        self.exit_code = exit_code
        self.code = code  # the controller's word for which refusal it is; docs/api.md lists them
