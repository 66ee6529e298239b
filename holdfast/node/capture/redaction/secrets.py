"""Secrets in a text: found by the name before them, by their form, or because they look random. Pure, linear in the
text."""

import re
from collections.abc import Callable
from itertools import pairwise

from holdfast.node.capture.redaction.gated import Gated

SECRET = "[secret]"
LONGEST_COMMAND = 160  # characters of a command before its option -p
_NAME = (
    r"(?:token|secret|passw(?:or)?d|passphrase|passcode|pwd|cookie|session_id|sessionid|webhook"
    r"|(?<![A-Za-z])psk(?![A-Za-z])|api[_-]?key|credential|auth(?:orization)?"
    r"|(?:access|private|account|encryption|signing|storage|shared|master|licen[cs]e|munge|ssh|pre-?shared)[_. -]?key"
    r"|(?<![A-Za-z])pass(?==|[\"']\s?:))"
)
_NAME_WORDS = tuple(
    [
        "token",
        "secret",
        "passw",
        "passphrase",
        "passcode",
        "pwd",
        "cookie",
        "session_id",
        "sessionid",
        "webhook",
        "psk",
        "api",
        "credential",
        "auth",
        "key",
        "pass",
    ]
)
_QUOTED = r"\"(?:[^\"\\\n]|\\.)*\"?|'(?:[^'\\\n]|\\.)*'?|\\{1,8}[\"'](?:(?!\\{1,8}[\"'])[^\n])*"
_BARE = r"(?:[^\s\"',;&]|[,;](?![\s\"']|$|[\w.-]{1,64}[=:]))+"
_NAMED = Gated(
    re.compile(
        rf"(?i)({_NAME}[\w.-]{{0,64}}\\{{0,4}}[\"']?\s{{0,16}}[=:]\s{{0,16}}(?:(?:bearer|basic|token|negotiate|digest|apikey)\s+)?)({_QUOTED}|{_BARE})"
    )
)
_SPOKEN = Gated(
    re.compile(
        rf"(?i)((?<![A-Za-z]){_NAME}s?\s{{1,4}}(?:(?:is|was)\s)?)({_QUOTED})"
        r"|((?<![A-Za-z])(?:(?:passw(?:or)?d|passphrase|pwd)\s{1,4}(?:(?:is|was)\s)?"
        r"|(?-i:[A-Z0-9_]{0,64}(?:SECRET|TOKEN|PASSWORD)(?:_[A-Z0-9_]{1,64})?)\s{1,4}))((?=\S{0,64}\d)\S{4,})"
    ),
    *_NAME_WORDS,
)
_OPTION = Gated(
    re.compile(
        rf"(?i)((?:^|\s)(?:--[\w.-]{{0,64}}?{_NAME}[\w.-]{{0,64}}[ =]|sshpass\s+-p\s*"
        rf"|(?:mysql|mariadb)\w*\s[^\n]{{0,80}}?-p|\bipmi\w*\s[^\n]{{0,80}}?\s-P\s*|\bcommunity\s(?!string)|(?:-u|--user)\s+[\w.@-]+:))({_QUOTED}|[^\s\"']+)",
        re.MULTILINE,
    ),
    *_NAME_WORDS,
    "sshpass",
    "mysql",
    "mariadb",
    "ipmi",
    "community",
    "-u ",
    "--user",
)
_OPTION_P = Gated(
    re.compile(rf"((?:^|\s)-p\s{{1,4}})(?!\d+(?::\d+){{0,2}}(?:/\w+)?(?!\S)|[-/~.$])({_QUOTED}|\S+)", re.MULTILINE),
    "-p",
)
_NOT_A_PASSWORD = re.compile(r"\b(?:srun|sbatch|salloc|sinfo|squeue|sacct|scontrol|mkdir|install|perf)\b")
_SIGNATURE = Gated(re.compile(r"(?i)([?&](?:sig|signature|x-amz-\w+|token|key|code)=)([^&\s\"']+)"))
_BEARER = Gated(re.compile(r"(?i)\b(bearer|basic)\s+([A-Za-z0-9._~+/=-]{8,})"), "bearer", "basic")
_KNOWN = re.compile(
    r"\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|hf_[A-Za-z0-9]{20,}|sk-[A-Za-z0-9_-]{16,}|A[KS]IA[0-9A-Z]{16}|"
    r"glpat-[\w-]{16,}|AIza[\w-]{30,}|dckr_pat_[\w-]{16,}|npm_[A-Za-z0-9]{20,}|xox[abeprs]-[A-Za-z0-9-]{10,}|"
    r"eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]*|nvapi-[A-Za-z0-9_-]{16,}"
    r"|(?=[a-z0-9.]{0,22}\d)(?=[a-z0-9.]{0,22}[a-z])[a-z0-9]{6}\.[a-z0-9]{16}\b)"  # kubeadm
)
_BESIDE_AN_ID = Gated(
    re.compile(  # AWS: the id, and its key within the same line or the next
        r"(\bA[KS]IA[0-9A-Z]{16}\b[^\n]{0,80}?\n?[^\n]{0,80}?(?<![A-Za-z0-9/+]))([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+])"
    ),
    "akia",
    "asia",
)
_FINGERPRINT = Gated(re.compile(r"\b(SHA256:)([A-Za-z0-9+/]{43})(?![A-Za-z0-9+/])"))  # of an SSH key
_BREAK = r"(?:[ \t]{0,64}+(?:\r?\n|\\{1,4}[rn])){1,4}+[ \t]{0,64}+"  # JSON has a line end as two characters
_KEY_BLOCK = Gated(
    re.compile(  # without an end marker, only text that looks like base64 belongs to it
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:"
        rf"(?:{_BREAK}(?:(?:Proc-Type|DEK-Info|Version|Comment): [^\n\\]{{0,100}}+|[A-Za-z0-9+/=]{{1,128}}+)"
        r"(?=[ \t]{0,64}(?:\r?\n|\\)|-----END)|[ \t]{1,64}+[A-Za-z0-9+/=]{16,}+(?=\s)){0,800}+"
        rf"(?:{_BREAK}|[ \t]{{0,64}}+)-----END [A-Z0-9 ]{{0,40}}PRIVATE KEY(?: BLOCK)?-----"
        rf"|(?:(?:{_BREAK}|[ \t]{{1,64}}+)[A-Za-z0-9+/]{{16,128}}+={{0,2}}(?=\s|\\|\"|$)){{0,800}}+)"
    )
)
_LONG = re.compile(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{32,}={0,2}")
_HAS_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_HEX = re.compile(r"[0-9a-fA-F]{32,}")
_KEPT_DIGEST = re.compile(
    r"(?i)(?:sha\d{1,3}|md5|digest|commit|build[ _-]?id|checksum|crc|srcversion|0x)[\"']?[\s:=@-]{0,3}$"
)
LEAST_LONG = 32
LEAST_DISTINCT = 6  # fewer different characters are a mask, not a key
Hex = Callable[[str], str]


def without_long_secrets(text: str) -> str:
    """Removes secrets of several lines, which need the whole text."""
    text = _KEY_BLOCK.sub("[private key]", text)
    return _BESIDE_AN_ID.sub(rf"\1{SECRET}", text)


def without_secrets(text: str, hexadecimal: Hex) -> str:
    """Removes secrets. `hexadecimal` gives the pseudonym of a long hexadecimal number, because a key and a container
    id look the same."""
    text = _FINGERPRINT.sub(rf"\1{SECRET}", text)
    text = _NAMED.sub(_hidden, text)
    text = _SPOKEN.sub(lambda found: (found[1] or found[3]) + SECRET, text)
    text = _OPTION.sub(rf"\1{SECRET}", text)
    text = _OPTION_P.sub(_option_p, text)
    text = _SIGNATURE.sub(rf"\1{SECRET}", text)
    text = _BEARER.sub(rf"\1 {SECRET}", text)
    text = _KNOWN.sub(SECRET, text)
    return _LONG.sub(lambda found: _long(found, hexadecimal), text)


def _hidden(found: re.Match[str]) -> str:
    """Hides a value. The quotes stay, so that JSON stays valid."""
    value = found[2]
    quote = value[: len(value) - len(value.lstrip("\\\"'"))][: value.find(value.lstrip("\\")[:1]) + 1]
    is_quoted = quote[-1:] in ('"', "'")
    if not is_quoted:
        return found[1] + SECRET
    closes = len(value) > len(quote) and value.endswith(quote) and not quote.startswith("\\")
    return found[1] + quote + SECRET + (quote if closes else "")


def _option_p(found: re.Match[str]) -> str:
    start = found.string.rfind("\n", 0, found.start() + 1) + 1
    command = found.string[max(start, found.start() - LONGEST_COMMAND) : found.start()]
    return found[0] if _NOT_A_PASSWORD.search(command) else found[1] + SECRET


def _long(found: re.Match[str], hexadecimal: Hex) -> str:
    word = found[0]
    if word.startswith("_Z") or _HAS_UUID.search(word):  # a symbol of C++
        return word
    if looks_random(word):
        return SECRET
    before = found.string[max(0, found.start() - 16) : found.start()]
    pieces = word.split("/")
    return "/".join(_piece(piece, before if at == 0 else "", hexadecimal) for at, piece in enumerate(pieces))


def _piece(word: str, before: str, hexadecimal: Hex) -> str:
    if len(word) < LEAST_LONG:
        return word
    if not word.startswith("_Z") and looks_random(word):
        return SECRET
    if _KEPT_DIGEST.search(before):
        return word
    return _HEX.sub(lambda one: one[0] if len(set(one[0])) < LEAST_DISTINCT else hexadecimal(one[0]), word)


def looks_random(word: str) -> bool:
    """Whether a text looks random: random characters switch between capitals, small letters and digits far more
    often than words and paths."""
    kinds = [_kind(letter) for letter in word if letter.isalnum()]
    if len(kinds) < LEAST_LONG // 2 or _HEX.fullmatch(word) or len(set(word)) < LEAST_DISTINCT:
        return False
    upper, lower, digits = (kinds.count(kind) for kind in "Aa0")
    changes = sum(one != other for one, other in pairwise(kinds)) / len(kinds)
    if "/" in word:
        return changes >= (0.3 if digits else 0.4) and min(upper, lower) >= 3
    if "-" in word or "_" in word:
        return changes >= 0.3 and min(upper, lower) >= 3 and (digits >= 2 or changes >= 0.4)
    if upper and lower:
        return changes >= 0.25 and (digits > 0 or changes >= 0.4)
    return digits >= 3 and upper + lower >= 3 and changes >= 0.1


def _kind(letter: str) -> str:
    return "0" if letter.isdigit() else "A" if letter.isupper() else "a"
