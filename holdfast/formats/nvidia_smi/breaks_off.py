"""Whether the text of `nvidia-smi -q` is complete: a truncated report must not pass."""

import re
from collections.abc import Mapping, Sequence

_ATTACHED = re.compile(r"^Attached GPUs\s*:\s*(\d{1,4})\s*$", re.MULTILINE)
_ONE_GPU = re.compile(r"nvidia-smi\b[^\n]*\s(?:-i|--id)[\s=]")
_LEFT_OUT = re.compile(r"^[^\S\n]*(?:\[\.\.\.\]|\.\.\.|<snip>|\[snip\]|…)\s*$", re.MULTILINE)
_PROCESSES = ("processes", "computeprocesses")
_WHOLE = "productname"  # `-d` prints selected sections without the name of the product


def too_few(text: str, gpus: int) -> str:
    """Whether there are fewer GPUs than the head announces; with `-i`, or in an excerpt that says so, this is
    intended."""
    found = _ATTACHED.search(text)
    if not found or int(found[1]) <= gpus or _ONE_GPU.search(text) or _LEFT_OUT.search(text):
        return ""
    return f"nvidia-smi counts {found[1]} attached GPUs and the file has {gpus} of them: the others are not judged"


def of_sections(gpus: Sequence[Mapping[str, str]], last_line: str) -> str:
    """Why the last GPU is incomplete: it ends before a section that the others have, or in the middle of a line."""
    last = gpus[-1]
    if any(name in last for name in _PROCESSES):  # the last fields of a GPU
        return ""
    for other in gpus[:-1]:
        if (_WHOLE in other) == (_WHOLE in last) and (lacking := _lacking(other, last)):
            return f"the text breaks off: the last GPU lacks {lacking}, which another GPU has"
    if last_line[:1].isspace() and last_line.strip() and ":" not in last_line:
        return f"the text breaks off in the line {last_line.strip()!r}: the missing part is not evaluated"
    return ""


def _lacking(other: Mapping[str, str], last: Mapping[str, str]) -> str:
    """The first missing section after the last common one. Processes come and go, and a state may have no details."""
    paths = list(other)
    common = [number for number, path in enumerate(paths) if path in last]
    if not common:
        return ""
    seen = paths[common[-1]].partition(".")[0]
    sections = (path.partition(".")[0] for path in paths[common[-1] + 1 :])
    return next((section for section in sections if section not in (seen, *_PROCESSES)), "")
