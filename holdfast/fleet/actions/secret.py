"""Passwords and signing keys: named in the configuration, read when needed, never shown."""

import os
from dataclasses import dataclass

from holdfast.runtime.errors import NoAnswer

_MOST_BYTES = 64 << 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Secret:
    """Where a secret is kept; the file may be replaced at any time (rotation)."""

    file: str = ""
    env: str = ""

    def __post_init__(self) -> None:
        if bool(self.file) == bool(self.env):
            raise ValueError("a secret is named by either file or env")

    def read(self) -> str:
        where = f"the file {self.file}" if self.file else f"the environment variable {self.env}"
        try:
            text = self._file() if self.file else os.environ.get(self.env, "")
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is not text"
            raise NoAnswer(f"a secret cannot be read from {where}: {why}", retryable=False, not_begun=True) from None
        secret = text.strip()
        if not secret.isprintable() or not secret:
            raise NoAnswer(f"{where} does not hold a secret of one line", retryable=False, not_begun=True)
        return secret

    def _file(self) -> str:
        with open(self.file, "rb") as file:
            return file.read(_MOST_BYTES).decode()
