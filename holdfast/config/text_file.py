"""Reads a file that a user wrote, or refuses it in one sentence."""

from pathlib import Path

from holdfast.model.refusal import Refusal

MOST_BYTES = 4_000_000


def read_text(path: str) -> str:
    try:
        with Path(path).open("rb") as file:
            raw = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise Refusal(f"{path}: {error.strerror}") from None
    if len(raw) > MOST_BYTES:
        raise Refusal(f"{path}: expected a TOML file, found more than {MOST_BYTES:,} bytes")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        raise Refusal(f"{path}: expected a TOML file, found bytes that are not text") from None
