"""Stored report numbers of a session as ranges, such as '1-57,60-61'."""

MOST_RANGES = 1_000


class StoredSequence:
    """The numbers stored so far. A gap of any length costs one range."""

    def __init__(self, text: str = "") -> None:
        pairs = (part.split("-") for part in text.split(",") if part)
        self._ranges = [(int(low), int(high)) for low, high in pairs]

    def add(self, number: int) -> bool:
        """Adds a number; False if it was known. Most numbers come in order and change only the last range."""
        ranges = self._ranges
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1] = (ranges[-1][0], number)
            return True
        if any(low <= number <= high for low, high in reversed(ranges)):
            return False
        self._ranges = _bounded(_joined(sorted([*ranges, (number, number)])))
        return True

    @property
    def newest(self) -> int:
        """The highest number; 0 before the first."""
        return self._ranges[-1][1] if self._ranges else 0

    def has_all_before(self, number: int) -> bool:
        return number <= 1 or any(low <= 1 and number - 1 <= high for low, high in self._ranges[:1])

    def gaps(self) -> list[tuple[int, int]]:
        """The missing numbers in between."""
        return [(a[1] + 1, b[0] - 1) for a, b in zip(self._ranges, self._ranges[1:], strict=False)]

    def __str__(self) -> str:
        return ",".join(f"{low}-{high}" for low, high in self._ranges)


def _joined(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    joined = ranges[:1]
    for low, high in ranges[1:]:
        if low == joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], high)
        else:
            joined.append((low, high))
    return joined


def _bounded(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Drops the oldest gap when there are too many, so that the row stays small. An agent does not resend a thousand
    gaps."""
    if len(ranges) <= MOST_RANGES:
        return ranges
    return [(ranges[0][0], ranges[1][1]), *ranges[2:]]
