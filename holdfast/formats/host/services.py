"""systemd's reports of the services that a GPU node needs, and the log of DCGM's host engine."""

import re

from holdfast.formats.tool_output import NODE, ToolOutput

_NEEDED = r"(?:nvidia-|nv-hostengine|dcgm|slurmd|munge|openibd|opensm|nvlsm|rdc|amd-|kubelet|containerd)"
_ENDED = re.compile(
    rf"systemd\[\d+\]: (?P<unit>{_NEEDED}[\w.@-]*\.service): "
    r"(?:(?:Main|Control) process exited, code=(?:exited|killed|dumped), status=(?!0/)(?P<status>\S+)"
    r"|Failed with result '(?P<result>[\w-]+)')",
)
_SCRIPT = re.compile(
    r"(?P<unit>nvidia-[\w-]{1,40}?)-start\.sh\[\d+\]: .{0,200} failed! Exit code: (?P<status>[1-9]\d*)"
)
_NOT_STARTED = re.compile(
    r"systemd\[\d+\]: Failed to start (?P<what>.{0,200}?(?:NVIDIA|nvidia|DCGM|Slurm|InfiniBand|RDMA).{0,200}?)\.?$",
    re.M,
)
_JOB = re.compile(rf"^Job for (?P<unit>{_NEEDED}[\w.@-]*\.service) failed because (?P<why>.*?)\.?$", re.MULTILINE)
_STATUS = re.compile(
    rf"^[^\S\n]*(?:[●×○*]\s+)?(?P<unit>{_NEEDED}[\w.@-]*\.service)(?: - .*)?\n(?=\s+Loaded: )", re.MULTILINE
)
_SYSLOG = re.compile(
    r"^(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\S{0,12}) \S+ "
    r"(?!kernel: |vmk)[\w./@-]{1,64}(?:\[\d+\])?: ",
    re.M,
)
_CARRIER = re.compile(
    r"systemd-networkd\[\d+\]: (?P<networkd>[\w.-]{1,32}): (?P<went>[Ll]ost|[Gg]ained) carrier"
    r"|NetworkManager\[\d+\]: .{0,200}\((?P<manager>[\w.-]{1,32})\): carrier: link (?P<link>dis)?connected"
)
MOSTLY = 0.8  # share of the lines that must look like those of a syslog
_ACTIVE = re.compile(r"^[^\S\n]*Active: (\w+)(?: \(([^)]*)\))?", re.MULTILINE)
_STARTED = re.compile(rf"systemd\[\d+\]: (?:Started|Stopped|Starting) .*|{_NEEDED}[\w.-]*\[\d+\]: ")
_HOST_ENGINE = re.compile(
    r"^(?:\d{4}-\d\d-\d\d [\d:.]+ )?(FATAL|CRITICAL|ERROR|WARN|WARNING|INFO|DEBUG|VERB)\s+\[\d+:\d+\] "
    r"(.*?)(?: \[/\S+:\d+\].*)?$",
    re.MULTILINE,
)
_HEALTH = re.compile(r"\[\[Health\]\] Detected an? (\w+) in health system (\w+): '?(.*)")
_CABLE = "check cable, transceiver and switch port"
REMEDY = "see why with journalctl -u, then start the service"


def read_services(text: str) -> ToolOutput | None:
    """Reads the last state of each service."""
    states: dict[str, str] = {}
    for ended in _ENDED.finditer(text):
        states[ended["unit"]] = f"ended with {ended['status'] or ended['result']}"
    for script in _SCRIPT.finditer(text):
        states.setdefault(f"{script['unit']}.service", f"ended with {script['status']}")
    for failed in _NOT_STARTED.finditer(text):
        states.setdefault(failed["what"], "failed to start")
    for job in _JOB.finditer(text):
        states.setdefault(job["unit"], f"failed: {job['why']}")
    for shown in _STATUS.finditer(text):
        active = _ACTIVE.search(text, shown.end())
        if active:
            states[shown["unit"]] = "" if active[1] in ("active", "activating", "reloading") else active[2] or active[1]
    if not states and not _STARTED.search(text) and not _is_syslog(text):
        return None
    output = ToolOutput("service log")
    output.lines = text.count("\n")
    _take_carriers(output, text)
    for unit, state in states.items():
        if state:
            output.complain(NODE, f"{unit} {state}", fails=state != "dead", remedy=REMEDY)
    return output


def _is_syslog(text: str) -> bool:
    lines = sum(bool(line.strip()) for line in text.splitlines())
    return len(_SYSLOG.findall(text)) >= max(1.0, MOSTLY * lines)


def _take_carriers(output: ToolOutput, text: str) -> None:
    """Reports interfaces that lost their link. One loss with recovery is normal while a node boots."""
    losses: dict[str, int] = {}
    gone: dict[str, bool] = {}
    for change in _CARRIER.finditer(text):
        name = change["networkd"] or change["manager"]
        gone[name] = bool(change["link"]) if change["manager"] else change["went"].lower() == "lost"
        losses[name] = losses.get(name, 0) + gone[name]
    for name, times in losses.items():
        if gone[name]:
            output.complain(f"nic/{name}", f"{name} lost its link and did not get it back", remedy=_CABLE)
        elif times > 1:
            output.complain(f"nic/{name}", f"{name} lost its link {times} times", fails=False, remedy=_CABLE)


def read_host_engine(text: str) -> ToolOutput | None:
    """Reads the log of the host engine. It logs errors on healthy nodes too, so only its end and the results of its
    health system count."""
    lines = _HOST_ENGINE.findall(text)
    if not lines:
        return None
    output = ToolOutput("nv-hostengine log")
    output.lines = len(lines)
    for message in dict.fromkeys(message for level, message in lines if level in ("FATAL", "CRITICAL")):
        output.complain(NODE, message, remedy="look at nv-hostengine's log")
    for kind, system, message in dict.fromkeys(found.groups() for _, line in lines if (found := _HEALTH.match(line))):
        gpu = re.search(r"\bGPU (\d+)\b", message)
        place = f"gpu/{int(gpu[1])}" if gpu else NODE
        output.complain(place, f"{system} {kind.lower()}: {message.rstrip(chr(39))}", fails="warn" not in kind.lower())
    return output
