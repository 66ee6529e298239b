"""A time with its unit: 90m, 12h, 7d."""

import re

from holdfast.cli.refusal import Refusal

_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


def seconds(text: str, option: str) -> float:
    found = re.fullmatch(r"([0-9]{1,6})([smhdw])", text)
    if found is None:
        raise Refusal(f"{option}: expected a number and s, m, h, d or w, such as 7d; found {text!r}")
    return float(found[1]) * _SECONDS[found[2]]
