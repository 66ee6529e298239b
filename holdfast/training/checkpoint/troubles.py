"""Current problems of this rank and its keeper. Each is logged once."""

import logging

LOG = logging.getLogger("holdfast.checkpoint")


class Troubles:
    def __init__(self) -> None:
        self._own: dict[str, str] = {}
        self._reported: dict[str, str] = {}

    def report(self, what: str, sentence: str) -> None:
        _log_new({what: sentence}, self._own)
        self._own[what] = sentence

    def forget(self, *what: str) -> None:
        for one in what:
            self._own.pop(one, None)

    def update(self, reported: dict[str, str]) -> None:
        """Updates the list: a problem that the keeper no longer reports is over."""
        _log_new(reported, self._reported)
        self._reported = dict(reported)

    def all(self) -> dict[str, str]:
        return {**self._reported, **self._own}


def _log_new(reported: dict[str, str], known: dict[str, str]) -> None:
    for what, sentence in reported.items():
        if known.get(what) != sentence:
            LOG.warning("%s: %s", what, sentence)
