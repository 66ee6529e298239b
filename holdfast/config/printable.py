"""Text of others as it may be printed."""


def printable(text: str) -> str:
    """Control characters, and those that turn the direction of writing, are shown as what they are."""
    return "".join(
        letter if letter.isprintable() or letter in "\n\t" else letter.encode("unicode_escape").decode()
        for letter in text
    )
