"""Redaction: names, addresses, users, secrets and serial numbers become pseudonyms that stay equal within a bundle.

What must differ stays apart (two GPUs have two pseudonyms), what must be matched still matches (a GPU's UUID in
two files), and nothing leads back: pseudonyms are keyed with a random key that is not stored. Pure but for the key.
"""

import hashlib
import hmac
import ipaddress
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from holdfast.node.capture.redact_programs import PROGRAMS, is_known
from holdfast.node.capture.redact_secrets import without_secrets
from holdfast.node.capture.redact_urls import without_urls

_MAIL = re.compile(r"(?<![\w.+-])[\w.+-]+@[A-Za-z][\w-]*(?:\.[\w-]+)*\b")  # also a login such as builder@host
_IPV4 = re.compile(r"(?<![\d.])(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?:25[0-5]|2[0-4]\d|1?\d?\d)){3}(?!\d|\.\d)")
_MAYBE_IPV6 = re.compile(r"(?<![\w:])(?=[0-9a-fA-F:]*:[0-9a-fA-F:]*:)[0-9a-fA-F:]{3,39}(?![\w:])")
_MAC = re.compile(r"(?<![\w:])(?:[0-9a-fA-F]{2}[:-]){5}(?:[0-9a-fA-F]{2}[:-]){0,14}[0-9a-fA-F]{2}(?![\w:])")
_DOTTED_MAC = re.compile(r"(?<![\w.])[0-9a-fA-F]{4}(?:\.[0-9a-fA-F]{4}){2}(?![\w.])")
_NAMED_ADDRESS = re.compile(
    r"(?i)(\b(?:mac(?: address)?|\w*guid|lladdr|hwaddr)[\"']?\s*[:=|]\s*[\"']?|\b[SHR]-)"
    r"((?:[0-9a-f]{12}|[0-9a-f]{16})\b)"
)
_NAMED_BY_ADDRESS = re.compile(r"\b((?:en|wl|ib)x)([0-9a-f]{12})\b")  # an interface
_UUID = re.compile(r"\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b")
_GUID = re.compile(r"\b0x[0-9a-fA-F]{16}\b|(?<![\w:])[0-9a-fA-F]{4}(?::[0-9a-fA-F]{4}){3}(?![\w:])")
_SERIAL = re.compile(
    r"(?i)\b((?:(?:product|board|chassis|inforom|asic)?[ _]?serial|s/?n|service tag|asset tag)"
    r"(?:[ _]?(?:number|no\.?|num))?[\"']?(?:\s*[:=|>]\s*[\"']?|\s{1,4}(?:is |was |#)?(?=[\w-]{0,16}\d{4})))([\w-]{4,})"
)
_HOME = re.compile(
    r"(/(?:home|users|Users|root/home|gpfs/home|export/home|scratch/users?)/)([^\s/\"'`<>:;,|()\[\]{}\\]+)"
    r"(?:(/)([^\s/\"'`<>:;,|()\[\]{}\\]+))?"  # the folder of a project
)
_USER = re.compile(
    r"(?i)((?:\b(?:user(?:_?id)?|uid|owner|login|logname|sudo_user|by|group(?:_?name|_?id)?|account|acct|wckey|project"
    r"|job_?name)|(?:user|account|logon)[ _-]?name|principal)\\{0,4}[\"']?\s{0,16}[=:]\s{0,16}\\{0,4}[\"']?)"
    r"([^\W\d][\w.@-]*)(?:\((\d+)\))?"
)
_QUOTED_USER = re.compile(
    r"(?i)(\b(?:user|account|login|owner)(?:[ _-]?name)?(?:\s{1,4}is|\s?[=:])?\s{0,4}(\\{0,4}[\"'`]))"
    r"([^\W\d][^\n\"'`\\=:,]{0,63})"
    r"(?=\\{0,4}[\"'`])"
)
_SPOKEN_USER = re.compile(r"(?i)(\b(?:user|account|login)[ _-]?name is )([^\W\d][\w.@-]*)")
_DOMAIN_USER = re.compile(
    r"(?<![\\\w:/.-])([A-Z][A-Z0-9-]{1,15}|[A-Za-z][A-Za-z0-9-]{1,15}(?=\\[^nrtbfux\\]))(\\)([^\W\d][\w.-]*)"
)
_NUMBERED = re.compile(r"(\b[ug]id=\d+\(|(?<=[,=])\d+\(|\(user )([A-Za-z_][\w.-]*)(?=\))")
_SAID_BY = re.compile(
    r"(\[|\(to [\w-]{1,32}\) )([A-Za-z_][\w.-]*)(?=@\d{4}-\d\d-\d\dT| on (?:pts|tty))"
)  # Slurm's reasons, su
_USER_NUMBERS = (  # what stands before the number of a user or a group, and the number
    re.compile(
        r"(?i)((?<![A-Za-z])(?:(?:login|real|effective|saved|fs|ou|og|au|eu|eg|su|sg|[aefo])?[ug]id|(?:user|group)_?id)"
        r"[\"']?\s*[=:]\s*[\"']?)(\d{4,10})(?![\w:.])"
    ),
    re.compile(r"(?i)([\"'](?:user|group)_id[\"']\s*:\s*\{[^{}]*[\"']number[\"']\s*:\s*)(\d{4,10})\b"),  # Slurm
    re.compile(r"(?i)(/run/user/|\buser@|\buser-(?=\d+\.slice)|\b(?:for|of) [ug]id )(\d{4,10})(?![\w:])"),  # systemd
    re.compile(r"((?<=[\w)])\(|(?<=[,=]))(\d{4,10})(?=\((?:user-[0-9a-f]{6}|[A-Za-z_][\w.-]*)\))"),  # groups=1(a),2(b)
    re.compile(r"((?:user-[0-9a-f]{6}|(?:User|Group)Id=[\w.-]+)\()(\d{4,10})(?=\))"),  # UserId=name(number)
)
_USER_NUMBERS_OF_A_PROCESS = re.compile(r"^([UG]id:)((?:\s+\d+){4})\s*$", re.MULTILINE)  # /proc/PID/status
_PROCESS = re.compile(
    r"^([ \t]{0,64})([A-Za-z_][\w.+-]*)(?=\s+\d+\s+\d+\.\d\s+\d+\.\d\s+\d+\s+\d+\s)", re.MULTILINE
)  # ps aux
_FREE_TEXT = re.compile(
    r"\b((?:JobName|Comment|AdminComment|SystemComment)=)(\S[^\n]{0,400}?)(?=[ \t]{1,8}[A-Z]\w{1,40}=|[ \t]{0,8}$)",
    re.M,
)
_PATH_FIELD = re.compile(r"\b((?:WorkDir|StdErr|StdOut|StdIn|Command|SubmitLine|Comment|AdminComment)=)(\S+)")
_PATH = re.compile(
    r"(?<![\w./-])(/(?!(?:usr|lib\d*|bin|sbin|etc|sys|proc|dev|run|opt|boot|var|tmp|snap|nix|root|home|users|Users)/)"
    r"[\w.-]+/)((?:[\w.@+-]+/)+)(?=[\w.@+-])"
)
_HOST_FIELD = re.compile(
    r"(?i)(\b(?:_?(?:host|node)_?name|node_?addr|node_?host_?name|\w{0,32}node_?list|batch_?host|alloc_?node|node|host)"
    r"[\"']?\s{0,16}=\s{0,16}[\"']?|\b_?hostname[\"']?\s{0,16}:\s{0,16}[\"']?"
    r"|[\"'][\w.-]{0,32}(?:host|node|server|machine|hostname|node_?name|server_?name|instance)\\{0,4}[\"']\s{0,16}:\s{0,16}\\{0,4}[\"'])"
    r"([^\W\d_][\w.-]*(?:\[[\d,-]+\][\w.,\[\]-]*)?|\d+[\w.-]*[^\W\d_][\w-]*)"
)
_HOSTS = (  # what stands before a host's name, the name, what stands behind it
    re.compile(r"^(Linux )(\S+)( \d+\.\d+)", re.MULTILINE),  # uname -a
    re.compile(r"((?:Hostname set|Set hostname) to <)([^>]+)(>)"),
    re.compile(r"(\bconnect to host )([A-Za-z][\w.-]*)( port )"),
    re.compile(r"(\bslurmstepd-|\bsrun: error: )([A-Za-z][\w.-]*)(: )"),
    re.compile(r"(\b(?:JOB|STEP) [\d.]+ ON )([A-Za-z][\w.-]*)( )"),
    re.compile(r"^([ \t]{0,64})([A-Za-z][\w.-]*)(:\d+:\d+ \[\d+\] NCCL )", re.MULTILINE),
    re.compile(
        r"(?i)(\b(?:nfs[v\d.]{0,4}|lockd|cifs|smb\d?|rpc[\w.]{0,16}|gpfs|mmfs\w{0,4}|beegfs[\w-]{0,16}|lustre\w{0,8}|lnet\w{0,8}|ceph)"
        r"\b[^\n]{0,120}?\b(?:server|host|node|peer) [\"'`]?)"
        r"(?!(?:not|is|has|was|and|or|on|in|at|for|to|with|from|by|the|error|failed|failure|timed|down|up|returned|did|does|address"
        r"|name|list|id|rebooted|unreachable|lost|closed|connection|marked|may|will|cannot)\b)([A-Za-z][\w.-]*)()"
    ),
    re.compile(r"(\bbeegfs-(?:storage|meta|mgmtd|client|monitoring)[: ] ?)([A-Za-z][\w.-]*)( \[ID|@|;)"),
    re.compile(r"()(?<![\w.-])([A-Za-z][\w.-]*)( \[ID: \d)"),  # BeeGFS
    re.compile(r"(?<![:\w/.])(//)([A-Za-z0-9][\w.-]*)(/(?=[\w.$-]))"),  # a share
    re.compile(
        r"(?:(?<=\s)|^)()(?!(?:file|error|warning|device|kernel|path)\b)([A-Za-z][\w.-]*)(:/[\w.-]+)(?=[/\s]|$)", re.M
    ),
    re.compile(r"(\bip=(?:[^\s:]*:){4})([A-Za-z][\w.-]*)(:)"),  # of the kernel's command line
    re.compile(r"(\\\\)([A-Za-z][\w.-]*)(\\)"),  # a share of Windows
    re.compile(r"(\b)(ip-\d{1,3}(?:-\d{1,3}){3})(\b)"),  # AWS
)
_LOGIN = re.compile(
    r"((?:Accepted|Failed|Postponed) \S+ for (?:invalid user )?|Accepted for |session (?:opened|closed) for user "
    r"|sudo:\s+|(?:of|for) user (?!space|mode|program|process|namespace|application|data)|CRON\[\d+\]: \()"
    r"([A-Za-z_][\w-]*(?:\.[\w-]+)*)"
)
_DOMAIN = re.compile(
    r"(?<![\w.@/-])(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,62}[A-Za-z0-9])?\.){1,16}(?:com|org|net|edu|gov|mil|int|info|io|ai|dev|cloud"
    r"|tech|local|internal|intern|intra|lan|corp|home|cluster|hpc|de|uk|fr|ch|at|it|es|nl|be|se|no|fi|dk|pl|cz|ie|pt|gr|eu|us|ca|mx"
    r"|br|au|nz|jp|cn|kr|tw|hk|sg|in|il|tr|ru|ua|za)(?!\w|[.-]{1,4}[A-Za-z0-9])"
)
PUBLIC_DOMAINS = ("nvidia.com", "kernel.org", "github.com", "amd.com", "pytorch.org", "schedmd.com")
_SYSLOG_HOST = re.compile(
    r"^((?:<\d+>)?(?:[A-Z][a-z]{2} +\d+ [\d:]{8}|\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:?\d\d)?) )(\S+)"
    r"( (?:kernel|[\w./-]+(?:\[\d+\])?): )",
    re.MULTILINE,
)
KEPT_ADDRESSES = frozenset({"127.0.0.1", "0.0.0.0", "255.255.255.255", "::1", "::"})
SERIAL_SIGNALS = ("_serial", "_uuid", "_guid", "_board_id")
KEPT_HOSTS = frozenset({"localhost", "none", "null", "unknown", "true", "false", "captured"})
FIRST_USER_NUMBER = 1000  # those below belong to the system, and are the same everywhere
UNNAMED_USERS = 65534
SHORT, MOST_KNOWN = 64, 10_000  # characters of a text that is kept once it is redacted, and how many are kept
LEAST_LETTERS = 4  # of a name that is looked for inside longer words
# fmt: off
WORDS_OF_TOOLS = frozenset({
    "admin", "backup", "batch", "client", "cloud", "cluster", "compute", "console", "controller", "daemon", "data",
    "debian", "docker", "games", "gpu", "head", "home", "host", "ibmad", "infiniband", "kernel", "list", "local",
    "login", "mail", "main", "manager", "master", "mellanox", "memory", "mlnx", "munge", "mysql", "network", "news",
    "node", "nodes", "nvidia", "operator", "port", "postgres", "prometheus", "proxy", "rack", "root", "server",
    "service", "slurm", "storage", "switch", "sync", "syslog", "system", "systemd", "test", "ubuntu", "user", "users",
    "virtual", "work", "worker",
})  # a machine or a user may be called so; inside a longer word they are not meant
WORDS_IN_FULL_NAMES = WORDS_OF_TOOLS | {
    "addr", "api", "app", "auth", "cpu", "dns", "docs", "file", "ftp", "git", "kern", "link", "mac", "ntp", "path",
    "pci", "program", "registry", "status", "support", "text", "web", "www", "xid",
}  # a full name begins so, and the word alone means something else
# fmt: on
_DEVICE = re.compile(
    r"(?:gpu|cpu|eth|ib|nvme|nvlink|port|slot|pcie|bond|mlx|numa|link|lane|card|sd[a-z])[-_]?\d{0,3}|[0-9a-f]+"
)
_WORD = re.compile(r"(?<![A-Za-z0-9])[A-Za-z][A-Za-z0-9]*(?:-[A-Za-z0-9]+)*")
LEAST_OF_A_SHORT_NAME = 3
KNOWN_FOLDERS = frozenset(
    {"bin", "lib", "src", "miniconda3", "anaconda3", "miniforge3", "mambaforge", "venv", "env", "go", "snap"}
)
WORDS_OF_LOGS = frozenset({"ERROR", "WARN", "WARNING", "INFO", "DEBUG", "FATAL", "TRACE", "NOTICE", "CRITICAL"})
KEPT_USERS = frozenset({"root", "nobody", "unknown", "none", "null", "true", "false"})


class Redactor:
    """One for a bundle. `names` are those of this machine and its neighbours, `users` those that have a login here."""

    def __init__(self, key: bytes, names: Iterable[str] = (), users: Iterable[str] = ()) -> None:
        self._key = key
        self._names = {name.lower(): f"host-{self._digest(name, 6)}" for name in _each_form(names)}
        users = (name.lower() for name in users if name)
        self._users = {name: f"user-{self._digest(name, 6)}" for name in users if name not in KEPT_USERS}
        self._words = _pattern([*self._names, *self._users])
        self._learned: dict[str, str] = {}  # short names of hosts whose full name was seen
        self._short = lru_cache(MOST_KNOWN)(self._redacted)

    def _digest(self, text: str, length: int = 8) -> str:
        return hmac.new(self._key, text.lower().encode(), hashlib.sha256).hexdigest()[:length]

    def name(self, name: str) -> str:
        return self._names.get(name.lower()) or f"host-{self._digest(name, 6)}"

    def _host(self, name: str) -> str:
        return name if name.startswith("host-") or name.lower() in KEPT_HOSTS else self.name(name)

    def _word(self, word: str) -> str:
        return self._names.get(word) or self._users[word]

    def text(self, text: str) -> str:
        """A node's files hold the same few numbers thousands of times."""
        return self._short(text) if len(text) <= SHORT else self._redacted(text)

    def learn(self, text: str) -> None:
        """Where a host's full name stands in one text, its short name may stand alone in another."""
        count = len(self._learned)
        for found in _DOMAIN.finditer(text):
            short = found[0].partition(".")[0].lower()
            is_word = short in WORDS_IN_FULL_NAMES or bool(_DEVICE.fullmatch(short))
            if len(short) >= LEAST_OF_A_SHORT_NAME and not is_word and not _is_public(found[0]):
                self._learned.setdefault(short, self.name(short))
        if len(self._learned) > count:
            self._short.cache_clear()

    def _redacted(self, text: str) -> str:
        self.learn(text)
        text = without_urls(text, self._url_host, _is_public)
        text = without_secrets(text, self._hexadecimal)
        for programs in PROGRAMS:
            text = programs.sub(lambda found: found[1] + self.program(found[2]), text)
        text = _SERIAL.sub(lambda found: found[1] + self._serial(found[2]), text)
        text = _SYSLOG_HOST.sub(lambda found: found[1] + self.name(found[2]) + found[3], text)
        for hosts in _HOSTS:
            text = hosts.sub(lambda found: found[1] + self.name(found[2]) + found[3], text)
        text = _HOST_FIELD.sub(lambda found: found[1] + self._host(found[2]), text)
        text = _FREE_TEXT.sub(lambda found: f"{found[1]}text-{self._digest(found[2], 6)}", text)
        text = _PATH_FIELD.sub(lambda found: f"{found[1]}path-{self._digest(found[2], 6)}", text)
        text = _PATH.sub(lambda found: f"{found[1]}path-{self._digest(found[2], 6)}/", text)
        text = _HOME.sub(self._home, text)
        text = _QUOTED_USER.sub(lambda found: found[1] + self._user(found[3]), text)
        text = _SPOKEN_USER.sub(lambda found: found[1] + self._user(found[2]), text)
        text = _DOMAIN_USER.sub(self._domain_user, text)
        for numbers in _USER_NUMBERS[:3]:
            text = numbers.sub(lambda found: found[1] + self._user_number(found[2]), text)
        text = _USER_NUMBERS_OF_A_PROCESS.sub(self._process_numbers, text)
        for users in (_NUMBERED, _PROCESS, _SAID_BY):
            text = users.sub(lambda found: found[1] + self._user(found[2]), text)
        text = _LOGIN.sub(lambda found: found[1] + self._user(found[2]), text)
        text = _USER.sub(self._named_user, text)
        for numbers in _USER_NUMBERS[3:]:
            text = numbers.sub(lambda found: found[1] + self._user_number(found[2]), text)
        if self._words is not None:
            text = self._words.sub(lambda found: self._word(found[0].lower()), text)
        if self._learned:
            text = _WORD.sub(self._short_name, text)
        text = _MAIL.sub(lambda found: f"mail-{self._digest(found[0], 6)}", text)
        text = _DOMAIN.sub(self._domain, text)
        text = _UUID.sub(lambda found: self._uuid(found[0]), text)
        text = _GUID.sub(lambda found: self._guid(found[0]), text)
        text = _NAMED_ADDRESS.sub(lambda found: f"{found[1]}mac-{self._digest(found[2], 8)}", text)
        text = _NAMED_BY_ADDRESS.sub(lambda found: found[1] + self._digest(found[2], 12), text)
        text = _DOTTED_MAC.sub(lambda found: f"mac-{self._digest(found[0], 8)}", text)
        text = _MAC.sub(lambda found: f"mac-{self._digest(found[0], 8)}", text)
        text = _IPV4.sub(lambda found: self._address(found[0]), text)
        return _MAYBE_IPV6.sub(self._ipv6, text)

    def _short_name(self, found: re.Match[str]) -> str:
        """Also before a hyphen: `n17-eth0`."""
        name, rest = found[0], ""
        for _ in range(4):
            if known := self._learned.get(name.lower()):
                return known + rest
            name, hyphen, last = name.rpartition("-")
            if not hyphen:
                break
            rest = f"-{last}{rest}"
        return found[0]

    def _url_host(self, name: str) -> str:
        if _is_public(name) or _IPV4.fullmatch(name) or "[" in name or "$" in name:
            return name
        return self._host(name)

    def _hexadecimal(self, text: str) -> str:
        digest = self._digest(text, 64)
        return (digest * (len(text) // 64 + 1))[: len(text)]

    def program(self, name: str) -> str:
        return name if is_known(name) or name.startswith("program-") else f"program-{self._digest(name, 6)}"

    def _home(self, found: re.Match[str]) -> str:
        folder = found[4] or ""
        is_kept = not folder or folder.startswith((".", "path-")) or folder in KNOWN_FOLDERS
        behind = folder if is_kept else f"path-{self._digest(folder, 6)}"
        return found[1] + self._user(found[2]) + (found[3] or "") + behind

    def _domain_user(self, found: re.Match[str]) -> str:
        if found[1] in WORDS_OF_LOGS or found[1].startswith("host-"):
            return found[0]
        return self.name(found[1]) + found[2] + self._user(found[3])

    def value(self, name: str, value: Any) -> Any:
        """The value of a signal."""
        if not isinstance(value, str):
            return value
        if name == "process":
            return self.program(value)
        if name.endswith(SERIAL_SIGNALS) and value:
            return self._serial(value) if not _UUID.search(value) else self.text(value)
        return self.text(value)

    def _serial(self, text: str) -> str:
        return text if text.lower() in ("n/a", "none", "unknown", "[n/a]") else f"sn-{self._digest(text)}"

    def _user(self, name: str) -> str:
        if name.lower() in KEPT_USERS or name.startswith("user-"):
            return name
        return self._users.get(name.lower()) or f"user-{self._digest(name, 6)}"

    def _named_user(self, found: re.Match[str]) -> str:
        return found[1] + self._user(found[2]) + (f"({found[3]})" if found[3] else "")

    def _user_number(self, number: str) -> str:
        """Another number: what reads the text still finds one."""
        if int(number) < FIRST_USER_NUMBER or int(number) == UNNAMED_USERS:
            return number
        return f"1{int(self._digest(f'user number {int(number)}'), 16) % 10**8:08d}"

    def _process_numbers(self, found: re.Match[str]) -> str:
        return found[1] + re.sub(r"\d+", lambda number: self._user_number(number[0]), found[2])

    def _domain(self, found: re.Match[str]) -> str:
        return found[0] if _is_public(found[0]) else self.name(found[0])

    def _uuid(self, text: str) -> str:
        digest = self._digest(text, 32)
        return f"{digest[:8]}-{digest[8:12]}-{digest[12:16]}-{digest[16:20]}-{digest[20:]}"

    def _guid(self, text: str) -> str:
        digest = self._digest(text.lower().removeprefix("0x").replace(":", ""), 16)
        return f"0x{digest}" if text.startswith("0x") else ":".join(digest[at : at + 4] for at in range(0, 16, 4))

    def _ipv6(self, found: re.Match[str]) -> str:
        """A time of day and a PCI address have colons too: only what is an address is one."""
        try:
            return self._address(str(ipaddress.IPv6Address(found[0])))
        except ValueError:
            return found[0]

    def _address(self, text: str) -> str:
        return text if text in KEPT_ADDRESSES else f"addr-{self._digest(text)}"


def _is_public(name: str) -> bool:
    host = name.lower().rpartition("@")[2].partition(":")[0]
    return any(host == one or host.endswith(f".{one}") for one in PUBLIC_DOMAINS)


def _each_form(names: Iterable[str]) -> list[str]:
    """A host's full name and its short one; a single letter or `localhost` is no name."""
    forms = {form for name in names for form in (name, name.split(".", 1)[0])}
    return sorted((one for one in forms if len(one) > 1 and one != "localhost"), key=len, reverse=True)


def _pattern(words: list[str]) -> re.Pattern[str] | None:
    if not words:
        return None
    ordered = sorted(words, key=len, reverse=True)
    inside = "|".join(re.escape(word) for word in ordered if _is_found_inside(word))
    alone = "|".join(map(re.escape, ordered))
    anywhere = rf"(?<!\d(?=\d))(?:{inside})(?!(?<=\d)\d)|" if inside else ""  # n17 is not in n170
    return re.compile(rf"(?i){anywhere}(?<![A-Za-z0-9])(?:{alone})(?![A-Za-z0-9])")


def _is_found_inside(word: str) -> bool:
    """Also within a longer word: unless it is short, a word of the tools, or could be a part of any number in hex."""
    return len(word) >= LEAST_LETTERS and word not in WORDS_OF_TOOLS and not re.fullmatch(r"[0-9a-f.:-]+", word)
