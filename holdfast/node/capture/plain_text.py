"""Strips colours, quotes, indentation, code fences and prefixes of pdsh, kubectl logs or a CI from tool output.

Output of several hosts in one file is split, so that each host gets its own verdicts.
"""

import re
import textwrap
from collections import defaultdict
from collections.abc import Iterable

from holdfast.node.capture.wrapping import spread_out, without_markup

_COLOUR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_EMPHASIS = re.compile(r"^[_*]{1,3}(?=\[ *\d+\.\d+\]|[A-Z][a-z]{2} +\d+ \d\d:)", re.MULTILINE)  # Markdown
_MARGIN = re.compile(
    r"^[+>|] ?(?:> ?)*(?=\[ *\d+\.\d+\] |\[[A-Z][a-z]{2} [A-Z][a-z]{2} |NVRM: |kernel: )", re.MULTILINE
)
_QUOTE = re.compile(r"^(?:> ?)+", re.MULTILINE)
MOSTLY = 0.6  # share of quoted lines from which on the text is a mail, and not a log with a prompt in it
NEARLY_ALL = 0.9  # share of lines with a prefix
_LISTED = re.compile(r'^\s*"(.*)",?\s*$')  # stdout_lines of ansible, a list of strings in any JSON
_PROMPT = re.compile(
    r"^(?:\([\w.-]+\) ?)?(?:\[[\w.-]+@[\w.-]+ [^\]\n]*\][#$]|[\w.-]+@[\w.-]+:[^\s#$]*[#$]|[$#](?= [a-z])) ?.*\n",
    re.MULTILINE,
)
_LINE_TIME = re.compile(
    r"\[ *\d+\.\d+\]|\[\w{3} \w{3} +\d+ [\d:]{8} \d{4}\]|\w{3} +\d+ [\d:]{8} (?:\S+ )?[\w./-]+(?:\[\d+\])?: "
)
_GLUED_FENCE = re.compile(r"^(`{3,})(?=\S+[ \t]+\S)", re.MULTILINE)  # the text begins on the line of the fence
_BLOCK = re.compile(r"\A[^\n]*(?:::|: ?\|[-+]?)[ \t]*\n(?=\s)")  # heading of a block of YAML or reStructuredText
_HOST = r"[A-Za-z0-9](?:[\w.-]*[\w-])?"
_PREFIXED = re.compile(rf"(?P<host>{_HOST}(?:\.txt|\.log|\.out)?): ?(?P<rest>.*)")
_HEADINGS = (
    re.compile(rf"^-{{5,}}\n(?P<host>{_HOST})\n-{{5,}}\n", re.MULTILINE),  # dshbak, clush -b
    re.compile(rf"^(?P<host>{_HOST}) \| (?:CHANGED|SUCCESS|FAILED)[^\n]*>>\n", re.MULTILINE),  # ansible
    re.compile(r"^==> (?:\S*/)?(?P<host>[^\s/]+) <==\n", re.MULTILINE),  # head and tail of several files
)
_FENCED = re.compile(r"^[ \t]*(?P<fence>`{3,}|~{3,})[^\n`]*\n(?P<inner>.*?)^[ \t]*(?P=fence)[ \t]*$", re.M | re.S)
_FENCE = re.compile(r"^[ \t]*`{3,}[^\n`]*$", re.MULTILINE)
_INLINE = re.compile(r"`([^`\n]{20,})`")
MOST_BLOCKS = 50
MOST_EMPTY_LINES = 3  # in a row
WIDEST_GAP = 255  # characters of white space
_WIDE = re.compile(r"(?<![^\S\n])[^\S\n]{256,}")  # wider than any column; many patterns try each position of such a run
NARROWEST_TERMINAL = 40
LONGEST_LINE = 32_768  # characters; lines of the kernel and of tools are shorter
_NOISE = (
    re.compile(r"\[(?:pod/)?[\w./-]+\] ?"),  # kubectl logs --prefix
    re.compile(r"[\w.-]+ +\| ?"),  # docker compose
    re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[\d.,:Z+-]*[ \t]"),  # kubectl logs --timestamps, a CI
    re.compile(r"(?:\[?(?:INFO|DEBUG|WARN|WARNING|ERROR)\]?\s*[-:|]\s*)+"),
    re.compile(r"(?:\d{1,3}\.){3}\d{1,3}: "),  # talosctl, pdsh
    re.compile(r"\s*\d+[:\t]"),  # grep -n, cat -n
    re.compile(r"\+(?![-=+]) ?"),  # added lines of a diff
)


def with_bounded_lines(text: str) -> tuple[str, int]:
    """The text without long lines and long gaps, and the number of lines cut, so that the time of every reader grows
    linearly.

    A document on one line (JSON, XML) is first split into lines, and only its long parts are cut.
    """
    lines: list[str] = []
    gap = 0
    for line in _WIDE.sub(_narrowed, text.replace("\r\n", "\n").replace("\r", "\n")).split("\n"):
        gap = 0 if line.strip() else gap + 1
        if gap > MOST_EMPTY_LINES:
            continue
        if len(line) > LONGEST_LINE and _is_document(line):
            lines += (spread_out(line) or line).split("\n")
        else:
            lines.append(line)
    cut = sum(len(line) > LONGEST_LINE for line in lines)
    return "\n".join(line[:LONGEST_LINE] for line in lines), cut


def _narrowed(run: re.Match[str]) -> str:
    return run[0][:WIDEST_GAP]


def _is_document(line: str) -> bool:
    return (line[:64].lstrip()[:1] + line[-64:].rstrip()[-1:]) in ("{}", "[]", "<>")


def plain(text: str) -> str:
    """The text without colours, quotation marks and margins."""
    text = _MARGIN.sub("", text)
    text = _EMPHASIS.sub("", _COLOUR.sub("", text).replace("\r\n", "\n").replace("\r", "\n"))
    text = without_markup(_GLUED_FENCE.sub(r"\1\n", text))
    if (block := _BLOCK.match(text)) and all(line[0] in " \t" for line in text[block.end() :].splitlines() if line):
        text = text[block.end() :]
    lines = [line for line in text.splitlines() if line.strip()]
    if lines and sum(line.startswith(">") for line in lines) >= MOSTLY * len(lines):
        text = _QUOTE.sub("", text)
    listed = [_LISTED.fullmatch(line) for line in lines]
    if lines and all(listed):
        text = "\n".join(found[1] for found in listed if found).replace('\\"', '"').replace("\\t", "\t")
        lines = [line for line in text.splitlines() if line.strip()]
    return textwrap.dedent(text) if lines and all(line[0] in " \t" for line in lines) else text


def unwrapped(text: str) -> str:
    """Joins lines of a log that a mail program or a terminal has wrapped: a line without a time belongs to the one
    above.

    The text is unchanged unless at least every third line begins with a time. A terminal cuts within words: all lines
    that continue are as long as the longest one.
    """
    lines = textwrap.dedent(text).splitlines()
    begins = [bool(_LINE_TIME.match(line.lstrip())) for line in lines]
    if not any(begins) or 3 * sum(begins) < len(lines) or all(begins):
        return text
    width = max(map(len, lines))
    cut = {len(line) for line, new in zip(lines, begins[1:], strict=False) if not new}
    hard = width >= NARROWEST_TERMINAL and cut == {width}
    joined: list[str] = []
    for line, new in zip(lines, begins, strict=True):
        if new or not joined or not line.strip() or not joined[-1]:
            joined.append(line if hard else line.rstrip())
        else:
            joined[-1] += line if hard else f" {line.strip()}"
    return "\n".join(joined) + "\n"


def by_command(text: str) -> list[tuple[str, str]]:
    """Each command of a terminal session and its output. Empty without a prompt; '' for the text before the first
    one."""
    prompts = list(_PROMPT.finditer(text))
    if not prompts:
        return []
    ends = [*(prompt.start() for prompt in prompts[1:]), len(text)]
    parts = [("", text[: prompts[0].start()])]
    parts += [(one[0].strip(), text[one.end() : end]) for one, end in zip(prompts, ends, strict=True)]
    return [(command, part) for command, part in parts if part.strip()]


def without_fences(text: str) -> str:
    """An empty line in place of each fence, so that the words behind a block are not its last line."""
    return _FENCE.sub("", text)


def blocks(text: str) -> list[str]:
    """Parts of a mail or an issue: fenced code, each paragraph, and text quoted within a line."""
    fenced = [found["inner"] for found in _FENCED.finditer(text)]
    parts = fenced or [part for part in re.split(r"\n\s*\n", text) if part.strip()]
    parts = [part for part in parts if part.strip()][:MOST_BLOCKS]
    quoted = _INLINE.findall(_FENCED.sub("", text))
    return [*(parts if len(parts) > 1 or fenced else ()), *(["\n".join(quoted)] if quoted else ())]


def by_host(text: str) -> dict[str, str]:
    """The text of each host. Empty unless the file is of several hosts."""
    text = plain(with_bounded_lines(text)[0])
    for heading in _HEADINGS:
        parts = heading.split(text)
        if len(parts) >= 5 and not parts[0].strip():  # at least two hosts, and nothing before the first
            return _joined(zip(parts[1::2], parts[2::2], strict=True))
    lines = [line for line in text.splitlines() if line.strip()]
    found = [match for line in lines if (match := _PREFIXED.fullmatch(line))]
    hosts = {match["host"] for match in found}
    if len(found) < len(lines) or not 2 <= len(hosts) <= len(lines) / 2 or not _are_siblings(hosts):
        return {}
    return _joined((match["host"], f"{match['rest']}\n") for match in found)


def _are_siblings(hosts: set[str]) -> bool:
    """Whether the names look like hosts of one cluster, which differ in their numbers. Field names, repeated for
    every part, do not."""
    shapes = {re.sub(r"\d+", "#", host) for host in hosts}
    return len(shapes) == 1 and shapes != {"#"} and all(re.search(r"\d", host) for host in hosts)


def _joined(parts: Iterable[tuple[str, str]]) -> dict[str, str]:
    found: defaultdict[str, str] = defaultdict(str)
    for host, text in parts:
        found[re.sub(r"\.(?:txt|log|out)$", "", host)] += text
    return dict(found)


def without_prefixes(text: str) -> str:
    """Removes a prefix that nearly all lines share, repeatedly; the same text if there is none."""
    for _ in range(3):
        lines = text.splitlines()
        filled = sum(bool(line.strip()) for line in lines)
        noise = next((one for one in _NOISE if sum(bool(one.match(x)) for x in lines) >= NEARLY_ALL * filled > 0), None)
        if noise is None:
            break
        text = "\n".join(noise.sub("", line, count=1) if noise.match(line) else line for line in lines) + "\n"
    return text
