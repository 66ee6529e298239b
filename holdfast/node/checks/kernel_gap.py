"""Explanation that checks give when kernel messages arrived faster than they could be read."""

from holdfast.model.window import Window
from holdfast.node.checks.event_rows import since, total

GAP = "kmsg_gap"


def lost_messages(window: Window, seconds: float, about: str) -> tuple[str, ...]:
    """One sentence of evidence, or none. The verdict uses the messages that could be read."""
    gaps = since(window, seconds, GAP)
    if not gaps:
        return ()
    ago = max(window.now - gaps[-1].at, 0)
    lost = f"{total(gaps)} kernel messages were lost before they could be read, the last {ago:.0f} s ago"
    return (f"{lost}: {about} may have been among them",)
