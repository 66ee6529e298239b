"""Hints for a wrong name: the nearest known one, or the list of known ones."""

from collections.abc import Iterable
from difflib import get_close_matches

MOST_LISTED = 40


def hint(name: str, known: Iterable[str], cutoff: float = 0.6, most: int = MOST_LISTED) -> str:
    names = list(known)
    near = get_close_matches(name, names, n=1, cutoff=cutoff)
    if near:
        return f"did you mean {near[0]}?"
    return f"expected one of {', '.join(names[:most])}{' ...' if len(names) > most else ''}"
