"""Makes text of others safe to print."""


def printable(text: str) -> str:
    """Replaces control characters and characters that change the writing direction by visible escapes."""
    return "".join(
        letter if letter.isprintable() or letter in "\n\t" else letter.encode("unicode_escape").decode()
        for letter in text
    )
