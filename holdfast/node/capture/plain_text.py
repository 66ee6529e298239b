"""Strips colours, quotes, indentation, code fences and prefixes of pdsh, kubectl logs or a CI from tool output.

Output of several hosts in one file is split, so that each host is judged under its own name.
"""

import re
import textwrap
from collections import defaultdict
from collections.abc import Iterable

_COLOUR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_QUOTE = re.compile(r"^(?:> ?)+", re.MULTILINE)
MOSTLY = 0.6  # of the lines are quoted: a letter, and not a log with a prompt in it
NEARLY_ALL = 0.9  # of the lines begin with a prefix
_LISTED = re.compile(r'^\s*"(.*)",?\s*$')  # stdout_lines of ansible, a list of strings in any JSON
_PROMPT = re.compile(
    r"^(?:\([\w.-]+\) ?)?(?:\[[\w.-]+@[\w.-]+ [^\]\n]*\][#$]|[\w.-]+@[\w.-]+:[^\s#$]*[#$]|[$#](?= [a-z])) ?.*\n",
    re.MULTILINE,
)
_HOST = r"[A-Za-z0-9](?:[\w.-]*[\w-])?"
_PREFIXED = re.compile(rf"(?P<host>{_HOST}(?:\.txt|\.log|\.out)?): ?(?P<rest>.*)")
_HEADINGS = (
    re.compile(rf"^-{{5,}}\n(?P<host>{_HOST})\n-{{5,}}\n", re.MULTILINE),  # dshbak, clush -b
    re.compile(rf"^(?P<host>{_HOST}) \| (?:CHANGED|SUCCESS|FAILED)[^\n]*>>\n", re.MULTILINE),  # ansible
    re.compile(r"^==> (?:\S*/)?(?P<host>[^\s/]+) <==\n", re.MULTILINE),  # head and tail of several files
)
_NOISE = (
    re.compile(r"\[(?:pod/)?[\w./-]+\] ?"),  # kubectl logs --prefix
    re.compile(r"[\w.-]+ +\| ?"),  # docker compose
    re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[\d.,:Z+-]*\s+"),  # kubectl logs --timestamps, a CI
    re.compile(r"(?:\[?(?:INFO|DEBUG|WARN|WARNING|ERROR)\]?\s*[-:|]\s*)+"),
    re.compile(r"(?:\d{1,3}\.){3}\d{1,3}: "),  # talosctl, pdsh
    re.compile(r"\s*\d+[:\t] ?"),  # grep -n, cat -n
)


def plain(text: str) -> str:
    text = _COLOUR.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    lines = [line for line in text.splitlines() if line.strip()]
    if lines and sum(line.startswith(">") for line in lines) >= MOSTLY * len(lines):
        text = _QUOTE.sub("", text)
    listed = [_LISTED.fullmatch(line) for line in lines]
    if lines and all(listed):
        text = "\n".join(found[1] for found in listed if found).replace('\\"', '"').replace("\\t", "\t")
        lines = [line for line in text.splitlines() if line.strip()]
    return textwrap.dedent(text) if lines and all(line[0] in " \t" for line in lines) else text


def by_command(text: str) -> list[str]:
    """What each command of a terminal session printed. Empty without a prompt."""
    parts = _PROMPT.split(text)
    return [part for part in parts if part.strip()] if len(parts) > 1 else []


def by_host(text: str) -> dict[str, str]:
    """The text of each host. Empty unless the file is of several hosts."""
    text = plain(text)
    for heading in _HEADINGS:
        parts = heading.split(text)
        if len(parts) >= 5 and not parts[0].strip():  # two hosts at least, and nothing above the first
            return _joined(zip(parts[1::2], parts[2::2], strict=True))
    lines = [line for line in text.splitlines() if line.strip()]
    found = [match for line in lines if (match := _PREFIXED.fullmatch(line))]
    hosts = {match["host"] for match in found}
    if len(found) < len(lines) or not 2 <= len(hosts) <= len(lines) / 2 or not _are_siblings(hosts):
        return {}
    return _joined((match["host"], f"{match['rest']}\n") for match in found)


def _are_siblings(hosts: set[str]) -> bool:
    """Hosts of a cluster differ in their numbers. Names of fields, repeated for every part, do not look like that."""
    return len({re.sub(r"\d+", "#", host) for host in hosts}) == 1 and all(re.search(r"\d", host) for host in hosts)


def _joined(parts: Iterable[tuple[str, str]]) -> dict[str, str]:
    found: defaultdict[str, str] = defaultdict(str)
    for host, text in parts:
        found[re.sub(r"\.(?:txt|log|out)$", "", host)] += text
    return dict(found)


def without_prefixes(text: str) -> str:
    """Without what nearly every line begins with, as often as there is one more; the same text where there is none."""
    for _ in range(3):
        lines = text.splitlines()
        filled = sum(bool(line.strip()) for line in lines)
        noise = next((one for one in _NOISE if sum(bool(one.match(x)) for x in lines) >= NEARLY_ALL * filled > 0), None)
        if noise is None:
            break
        text = "\n".join(noise.sub("", line, count=1) if noise.match(line) else line for line in lines) + "\n"
    return text
