"""Patterns of names, addresses, users, hosts and serial numbers, and the words that are not names. Pure."""

import re

from holdfast.node.capture.redaction.gated import Gated

MAIL = Gated(
    re.compile(r"(?<![\w.+-])[\w.+-]+@[A-Za-z][\w-]*(?:\.[\w-]+)*\b"), "@"
)  # also a login such as builder@host
PRINCIPAL = Gated(
    re.compile(r"(?<![\w./-])[\w.-]{1,64}/[\w.-]{1,64}@[A-Z][A-Z0-9-]{0,62}(?:\.[A-Z0-9-]{1,62}){0,8}\b"), "@"
)
LOGIN_OF_ADDRESS = Gated(
    re.compile(r"(?<![\w.+/@-])([^\W\d][\w.-]{0,63})(?=@(?:\d{1,3}(?:\.\d{1,3}){3}|\[)(?!\d))"), "@"
)
DISTINGUISHED = Gated(
    re.compile(r"(\b(?:CN|OU|O)=)([^\W\d][^,\n=\"'/]{0,63})"), "cn=", "ou=", "o="
)  # LDAP, certificates
ISCSI = Gated(re.compile(r"\biqn\.\d{4}-\d\d\.[\w.:-]{1,200}"), "iqn.")
IPV4 = Gated(re.compile(r"(?<![\d.])(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?:25[0-5]|2[0-4]\d|1?\d?\d)){3}(?!\d|\.\d)"), ".")
MAYBE_IPV6 = Gated(re.compile(r"(?<![\w:])(?=[0-9a-fA-F:]*:[0-9a-fA-F:]*:)[0-9a-fA-F:]{3,39}(?![\w:])"), ":")
MAC = Gated(
    re.compile(r"(?<![\w:])(?:[0-9a-fA-F]{2}[:-]){5}(?:[0-9a-fA-F]{2}[:-]){0,14}[0-9a-fA-F]{2}(?![\w:])"), ":", "-"
)
DOTTED_MAC = Gated(re.compile(r"(?<![\w.])[0-9a-fA-F]{4}(?:\.[0-9a-fA-F]{4}){2}(?![\w.])"), ".")
NAMED_ADDRESS = Gated(
    re.compile(
        r"(?i)(\b(?:mac(?: address)?|\w*guid|lladdr|hwaddr)[\"']?\s*[:=|]\s*[\"']?|\b[SHR]-)"
        r"((?:[0-9a-f]{12}|[0-9a-f]{16})\b)"
    ),
    "mac",
    "guid",
    "lladdr",
    "hwaddr",
    "s-",
    "h-",
    "r-",
)
NAMED_BY_ADDRESS = Gated(re.compile(r"\b((?:en|wl|ib)x)([0-9a-f]{12})\b"), "enx", "wlx", "ibx")  # an interface
UUID = Gated(re.compile(r"\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b"), "-")
GUID = Gated(re.compile(r"\b0x[0-9a-fA-F]{16}\b|(?<![\w:])[0-9a-fA-F]{4}(?::[0-9a-fA-F]{4}){3}(?![\w:])"), ":", "0x")
SERIAL = Gated(
    re.compile(
        r"(?i)\b((?:(?:product|board|chassis|inforom|asic)?[ _]?serial|s/?n|service tag|asset tag)"
        r"(?:[ _-]?(?:number|no\.?|num))?[\"']?(?:\s*[:=|>]\s*[\"']?|\s{1,4}(?:is |was |#)?(?=[\w-]{0,16}\d{4})))"
        r"([\w-]{4,})"
    ),
    "serial",
    "s/n",
    "sn",
    "tag",
)
HOME = Gated(
    re.compile(
        r"(/(?:home|users|Users|root/home|gpfs/home|export/home|scratch/users?)/|\b[A-Z]:\\{1,4}Users\\{1,4})([^\s/\"'`<>:;,|()\[\]{}\\]+)"
        r"(?:(/)([^\s/\"'`<>:;,|()\[\]{}\\]+))?"  # the folder of a project
    )
)
USER = Gated(
    re.compile(
        r"(?i)((?:\b(?:user(?:_?id)?|uid|owner|login|logname|sudo_user|by|group(?:_?name|_?id)?|account|acct|wckey|project"
        r"|job_?name)|(?:user|account|logon)[ _-]?name|principal)\\{0,4}[\"']?\s{0,16}[=:]\s{0,16}\\{0,4}[\"']?)"
        r"([^\W\d][\w.@-]*)(?:\((\d+)\))?"
    ),
    "user",
    "uid",
    "owner",
    "log",
    "by",
    "group",
    "account",
    "acct",
    "wckey",
    "project",
    "job",
    "principal",
)
QUOTED_USER = Gated(
    re.compile(
        r"(?i)(\b(?:user|account|login|owner)(?:[ _-]?name)?(?:\s{1,4}is|\s?[=:])?\s{0,4}(\\{0,4}[\"'`]))"
        r"([^\W\d][^\n\"'`\\=:,]{0,63})"
        r"(?=\\{0,4}[\"'`])"
    )
)
SPOKEN_USER = Gated(re.compile(r"(?i)(\b(?:user|account|login)[ _-]?name is )([^\W\d][\w.@-]*)"))
DOMAIN_USER = Gated(
    re.compile(
        r"(?<![\\\w:/.-])([A-Z][A-Z0-9-]{1,15}|[A-Za-z][A-Za-z0-9-]{1,15}(?=\\[^nrtbfux\\]))(\\)([^\W\d][\w.-]*)"
    ),
    "\\",
)
NUMBERED = Gated(re.compile(r"(\b[ug]id=\d+\(|(?<=[,=])\d+\(|\(user )([A-Za-z_][\w.-]*)(?=\))"), "(")
SAID_BY = Gated(
    re.compile(r"(\[|\(to [\w-]{1,32}\) )([^\W\d][\w.-]*)(?=@\d{4}-\d\d-\d\dT| on (?:pts|tty))"), "@", " on "
)  # Slurm's reasons, su
USER_NUMBERS = (  # text before the number of a user or a group, and the number
    Gated(
        re.compile(
            r"(?i)((?<![A-Za-z])(?:(?:login|real|effective|saved|fs|ou|og|au|eu|eg|su|sg|[aefo])?[ug]id|(?:user|group)_?id)"
            r"[\"']?\s*[=:]\s*[\"']?)(\d{4,10})(?![\w:.])"
        ),
        "uid",
        "gid",
        "userid",
        "user_id",
        "groupid",
        "group_id",
    ),
    Gated(re.compile(r"(?i)([\"'](?:user|group)_id[\"']\s*:\s*\{[^{}]*[\"']number[\"']\s*:\s*)(\d{4,10})\b")),  # Slurm
    Gated(
        re.compile(r"(?i)(/run/user/|\buser@|\buser-(?=\d+\.slice)|\b(?:for|of) [ug]id )(\d{4,10})(?![\w:])"),
        "/run/user/",
        "user@",
        ".slice",
        "uid ",
        "gid ",
    ),  # systemd
    Gated(
        re.compile(r"((?<=[\w)])\(|(?<=[,=]))(\d{4,10})(?=\((?:user-[0-9a-f]{6}|[A-Za-z_][\w.-]*)\))"), "("
    ),  # groups=1(a),2(b)
    Gated(re.compile(r"((?:user-[0-9a-f]{6}|(?:User|Group)Id=[\w.-]+)\()(\d{4,10})(?=\))")),  # UserId=name(number)
)
USER_NUMBERS_OF_A_PROCESS = Gated(re.compile(r"^([UG]id:)((?:\s+\d+){4})\s*$", re.MULTILINE))  # /proc/PID/status
PROCESS = Gated(
    re.compile(r"^([ \t]{0,64})([A-Za-z_][\w.+-]*)(?=\s+\d+\s+\d+\.\d\s+\d+\.\d\s+\d+\s+\d+\s)", re.MULTILINE)
)  # ps aux
FREE_TEXT = Gated(
    re.compile(
        r"\b((?:JobName|Comment|AdminComment|SystemComment|Extra|MailUser|Reservation(?:Name)?|MCS_label)=)"
        r"(?!N/A\b|\(null\))(\S[^\n]{0,400}?)(?=[ \t]{1,8}[A-Z]\w{1,40}=|[ \t]{0,8}$)",
        re.M,
    )
)
PATH_FIELD = Gated(re.compile(r"\b((?:WorkDir|StdErr|StdOut|StdIn|Command|SubmitLine|Comment|AdminComment)=)(\S+)"))
CGROUP = Gated(re.compile(r"(\bcpuset=)(?!/|cri-|crio-|docker-|user\.slice|system\.slice)([\w.@-]{1,128})"), "cpuset=")
PATH = Gated(
    re.compile(
        r"(?<![\w./-])(/(?!(?:usr|lib\d*|bin|sbin|etc|sys|proc|dev|run|opt|boot|var|tmp|snap|nix|root|home|users|Users)/)"
        r"[\w.-]+/)((?:[\w.@+-]+/)+)(?=[\w.@+-])"
    ),
    "/",
)
HOST_FIELD = Gated(
    re.compile(
        r"(?i)(\b(?:_?(?:host|node)_?name|node_?addr|node_?host_?name|\w{0,32}node_?list|batch_?host|alloc_?node|node|host)"
        r"[\"']?\s{0,16}=\s{0,16}[\"']?|\b_?hostname[\"']?\s{0,16}:\s{0,16}[\"']?"
        r"|[\"'][\w.-]{0,32}(?:host|node|server|machine|hostname|node_?name|server_?name|instance)\\{0,4}[\"']\s{0,16}:\s{0,16}\\{0,4}[\"'])"
        r"([^\W\d_][\w.-]*(?:\[[\d,-]+\][\w.,\[\]-]*)?|\d+[\w.-]*[^\W\d_][\w-]*)"
    ),
    "host",
    "node",
    "server",
    "machine",
    "instance",
)
HOSTS = (  # text before a host's name, the name, text after it
    Gated(re.compile(r"^(Linux )(\S+)( \d+\.\d+)", re.MULTILINE)),  # uname -a
    Gated(re.compile(r"((?:Hostname set|Set hostname) to <)([^>]+)(>)")),
    Gated(re.compile(r"(\bconnect to host )([A-Za-z][\w.-]*)( port )")),
    Gated(re.compile(r"(\bslurmstepd-|\bsrun: error: )([A-Za-z][\w.-]*)(: )")),
    Gated(re.compile(r"(\b(?:JOB|STEP) [\d.]+ ON )([A-Za-z][\w.-]*)( )")),
    Gated(re.compile(r"^([ \t]{0,64})([A-Za-z][\w.-]*)(:\d+:\d+ \[\d+\] NCCL )", re.MULTILINE)),
    Gated(
        re.compile(
            r"(?i)(\b(?:nfs[v\d.]{0,4}|lockd|cifs|smb\d?|rpc[\w.]{0,16}|gpfs|mmfs\w{0,4}|beegfs[\w-]{0,16}|lustre\w{0,8}|lnet\w{0,8}|ceph)"
            r"\b[^\n]{0,120}?\b(?:server|host|node|peer) [\"'`]?)"
            r"(?!(?:not|is|has|was|and|or|on|in|at|for|to|with|from|by|the|error|failed|failure|timed|down|up|returned|did|does|address"
            r"|name|list|id|rebooted|unreachable|lost|closed|connection|marked|may|will|cannot)\b)([A-Za-z][\w.-]*)()"
        ),
        "nfs",
        "lockd",
        "cifs",
        "smb",
        "rpc",
        "gpfs",
        "mmfs",
        "beegfs",
        "lustre",
        "lnet",
        "ceph",
    ),
    Gated(re.compile(r"(\bbeegfs-(?:storage|meta|mgmtd|client|monitoring)[: ] ?)([A-Za-z][\w.-]*)( \[ID|@|;)")),
    Gated(re.compile(r"()(?<![\w.-])([A-Za-z][\w.-]*)( \[ID: \d)")),  # BeeGFS
    Gated(re.compile(r"(?<![:\w/.])(//)([A-Za-z0-9][\w.-]*)(/(?=[\w.$-]))"), "//"),  # a share
    Gated(
        re.compile(
            r"(?:(?<=\s)|^)()(?!(?:file|error|warning|device|kernel|path)\b)([A-Za-z][\w.-]*)(:/[\w.-]+)(?=[/\s]|$)",
            re.M,
        ),
        ":/",
    ),
    Gated(re.compile(r"(\bip=(?:[^\s:]*:){4})([A-Za-z][\w.-]*)(:)")),  # of the kernel's command line
    Gated(re.compile(r"(\\\\)([A-Za-z][\w.-]*)(\\)"), "\\\\"),  # a share of Windows
    Gated(re.compile(r"(\b)(ip-\d{1,3}(?:-\d{1,3}){3})(\b)")),  # AWS
)
NAMED_HOST = Gated(  # `host: gpu17` without quotes: alone on its line, or with a number in the name
    re.compile(
        r"(?im)(^[ \t]{0,64}(?:- )?(?:host|host_?name|node|node_?name|server|machine)[ \t]{0,16}:[ \t]{1,16})"
        r"([A-Za-z][\w.-]*)(?=[ \t]{0,16},?$)"
        r"|(\b(?:host|host_?name|node|node_?name|server|machine):[ \t]{0,4})"
        r"([A-Za-z][\w.-]{0,63}\d[\w.-]{0,63})(?![\w:])"
    ),
    "host",
    "node",
    "server",
    "machine",
)
LISTED_HOSTS = Gated(  # JSON
    re.compile(
        r"(?i)([\"'][\w.-]{0,32}(?:nodes?|hosts?|servers?|machines?|instances?|(?:node|host)_?(?:list|names?))[\"']"
        r"\s{0,16}:\s{0,16}\[)([^\[\]{}]{1,20000})(?=\])"
    ),
    "node",
    "host",
    "server",
    "machine",
    "instance",
)
LISTED = re.compile(r"([\"'])([^\W_][\w.-]*)(?=\1)")
FILE_SYSTEMS = (  # of Lustre
    Gated(re.compile(r"()\b(\w{1,16})(?=-(?:OST|MDT)[0-9a-fA-F]{4}\b)"), "-ost", "-mdt"),
    Gated(re.compile(r"(@(?:tcp|o2ib)\d{0,3}:/)(\w{1,16})"), "@tcp", "@o2ib"),
    Gated(re.compile(r"(\b(?:Mounted|Unmounted|Remounted) )(\w{1,16})(?=-client\b)"), "-client"),
)
LOGIN = Gated(
    re.compile(
        r"((?:Accepted|Failed|Postponed) \S+ for (?:invalid user )?"
        r"|(?:Invalid|authenticating|invalid|Disconnected from) user "
        r"|Accepted for |session (?:opened|closed) for user "
        r"|sudo:\s+|(?:of|for) user (?!space|mode|program|process|namespace|application|data)|CRON\[\d+\]: \()"
        r"([^\W\d][\w-]*(?:\.[\w-]+)*)"
    )
)
DOMAIN = Gated(
    re.compile(
        r"(?<![\w.@/-])(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,62}[A-Za-z0-9])?\.){1,16}(?:com|org|net|edu|gov|mil|int|info|io|ai|dev|cloud"
        r"|tech|local|internal|intern|intra|lan|corp|home|cluster|hpc|de|uk|fr|ch|at|it|es|nl|be|se|no|fi|dk|pl|cz|ie|pt|gr|eu|us|ca|mx"
        r"|br|au|nz|jp|cn|kr|tw|hk|sg|in|il|tr|ru|ua|za)(?!\w|[.-]{1,4}[A-Za-z0-9])"
    ),
    ".",
)
PUBLIC_DOMAINS = ("nvidia.com", "kernel.org", "github.com", "amd.com", "pytorch.org", "schedmd.com")
SYSLOG_HOST = Gated(
    re.compile(
        r"^((?:<\d+>)?(?:[A-Z][a-z]{2} +\d+ [\d:]{8}|\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:?\d\d)?) )(\S+)"
        r"( (?:kernel|[\w./-]+(?:\[\d+\])?): )",
        re.MULTILINE,
    )
)
KEPT_ADDRESSES = frozenset({"127.0.0.1", "0.0.0.0", "255.255.255.255", "::1", "::"})
SERIAL_SIGNALS = ("_serial", "_uuid", "_guid", "_board_id")
KEPT_HOSTS = frozenset({"localhost", "none", "null", "unknown", "true", "false", "captured"})
FIRST_USER_NUMBER = 1000  # the names below belong to the system and are the same everywhere
UNNAMED_USERS = 65534
SHORT, MOST_KNOWN = 64, 10_000  # number and length of the texts that are cached after redaction
LEAST_LETTERS = 4  # shortest name that is searched inside longer words
# fmt: off
WORDS_OF_TOOLS = frozenset({
    "admin", "backup", "batch", "client", "cloud", "cluster", "compute", "console", "controller", "daemon", "data",
    "debian", "docker", "games", "gpu", "head", "home", "host", "ibmad", "infiniband", "kernel", "list", "local",
    "login", "mail", "main", "manager", "master", "mellanox", "memory", "mlnx", "munge", "mysql", "network", "news",
    "node", "nodes", "nvidia", "operator", "port", "postgres", "prometheus", "proxy", "rack", "root", "server",
    "service", "slurm", "storage", "switch", "sync", "syslog", "system", "systemd", "test", "ubuntu", "user", "users",
    "virtual", "work", "worker",
})  # a machine or a user may have this name; inside a longer word it means something else
WORDS_IN_FULL_NAMES = WORDS_OF_TOOLS | {
    "addr", "api", "app", "auth", "cpu", "dns", "docs", "file", "ftp", "git", "kern", "link", "mac", "ntp", "path",
    "pci", "program", "registry", "status", "support", "text", "web", "www", "xid",
}  # a full name may start with this, but the word alone means something else
# fmt: on
DEVICE = re.compile(
    r"(?:gpu|cpu|eth|ib|nvme|nvlink|port|slot|pcie|bond|mlx|numa|link|lane|card|sd[a-z])[-_]?\d{0,3}|[0-9a-f]+"
)
WORD = re.compile(r"(?<![A-Za-z0-9])[A-Za-z][A-Za-z0-9]*(?:-[A-Za-z0-9]+)*")
LEAST_OF_A_SHORT_NAME = 3
KNOWN_FOLDERS = frozenset(
    {"bin", "lib", "src", "miniconda3", "anaconda3", "miniforge3", "mambaforge", "venv", "env", "go", "snap"}
)
WORDS_OF_LOGS = frozenset({"ERROR", "WARN", "WARNING", "INFO", "DEBUG", "FATAL", "TRACE", "NOTICE", "CRITICAL"})
KEPT_USERS = frozenset({"root", "nobody", "unknown", "none", "null", "true", "false"})
