"""`ipmitool sel list`, `sdr`, `sensor` and FreeIPMI's `ipmi-sensors`: the event log and the sensors of a BMC."""

import re

from holdfast.formats.tool_output import NODE, ToolOutput

_SEL = re.compile(
    r"^[^\S\n]*[0-9a-fA-F]{1,5}\s*\|\s*(?:\d\d/\d\d/\d{2,4}|\d{4}-\d\d-\d\d|Pre-Init|Unknown)[^\S\n]*\|?"
    r"[\d:. \tA-Z]{0,60}\|"
    r"(?P<sensor>[^|\n]+)\|(?P<event>[^|\n]*)(?:\|[^\S\n]*(?P<state>Asserted|Deasserted)\b.*)?$",
    re.MULTILINE,
)
_LOG_UTIL = re.compile(
    r"SEL Entry: FRU: \d+,.{0,200}?Sensor: (?P<sensor>\S{1,80}) \(0x[0-9A-Fa-f]+\), Event Data: \(\w+\) "
    r"(?P<event>.{0,400}?) (?P<state>Assertion|Deassertion)[^\S\n]*$",
    re.MULTILINE,
)  # OpenBMC
_UNIFIED = re.compile(
    r"SEL Entry: FRU: \d+, Record: Facebook Unified SEL .{0,80}?GeneralInfo: (?P<sensor>[^,\n]{1,80}), "
    r"(?P<event>[^\n]{1,400})"
)  # OpenBMC, for errors of PCIe, memory and firmware alone
_SEVERE = re.compile(r"(?i)ERR_FATAL|ERR_NONFATAL|surprise down|poisoned|completion timeout")
_FAULT_SENSOR = re.compile(r"(?i)fault|_err|fail|critical")
_FAILS = re.compile(
    r"(?i)(?<!non-)(?:uncorrectable|bus fatal|fatal (?:nmi|error)|\bIERR\b|thermal trip|machine check|"
    r"(?:upper|lower) (?:critical|non-recoverable)|transition to (?:critical|non-recoverable)|drive fault|"
    r"power supply failure|failure detected|\b[PS]ERR\b|processor disabled|configuration error)"
)
_DEGRADED = re.compile(
    r"(?i)redundancy (?:lost|degraded)|ac lost|power supply ac|predictive failure|logging limit|non-critical|"
    r"correctable ecc|in (?:failed|critical) array|rebuild|throttled|battery (?:low|failed)|log (?:almost )?full"
)
_SENSOR_STATES = {
    **dict.fromkeys(("cr", "nr", "lcr", "lnr", "ucr", "unr", "critical", "non-recoverable"), True),
    **dict.fromkeys(("nc", "lnc", "unc", "warning", "non-critical"), False),
    **dict.fromkeys(("ok", "ns", "na", "nominal", "n/a", "disabled"), None),
}
LEAST_ROWS = 2


def read_sel(text: str) -> ToolOutput | None:
    """Reads the event log. Only the last state of each sensor counts, so a sensor that is back to normal is no
    complaint."""
    rows = [(row["sensor"].strip(), row["event"].strip(), row["state"] or "Asserted") for row in _SEL.finditer(text)]
    rows += [
        (row["sensor"], row["event"], "Asserted" if row["state"] == "Assertion" else "Deasserted")
        for row in _LOG_UTIL.finditer(text)
    ]
    unified = [(row["sensor"], row["event"].strip()) for row in _UNIFIED.finditer(text)]
    if not rows and not unified:
        return None
    output = ToolOutput("ipmitool sel")
    for sensor, event in dict.fromkeys(unified):
        fails = bool(_FAILS.search(event) or _SEVERE.search(event))
        output.complain(NODE, f"{sensor}: {event}", fails=fails, remedy="inspect this part of the server")
    output.lines = len(rows)
    counts: dict[tuple[str, str], int] = {}
    for sensor, event, state in rows:
        if state == "Deasserted":
            counts.pop((sensor, event), None)
        else:
            counts[sensor, event] = counts.get((sensor, event), 0) + 1
    for (sensor, event), count in counts.items():
        fails = bool(_FAILS.search(event))
        if fails or _DEGRADED.search(event) or _FAULT_SENSOR.search(sensor):
            times = f" ({count} times)" if count > 1 else ""
            output.complain(NODE, f"{sensor}: {event}{times}", fails=fails, remedy="inspect this part of the server")
    return output


def read_sensors(text: str) -> ToolOutput | None:
    """Reads rows of `name | value | ok`; the column of the state depends on the tool."""
    rows = [[cell.strip() for cell in line.split("|")] for line in text.splitlines() if line.count("|") >= 2]
    judged = [(row, state) for row in rows if (state := _state(row)) is not None]
    if len(judged) < LEAST_ROWS or 2 * len(judged) < len(rows):
        return None
    output = ToolOutput("ipmitool sdr" if len(judged[0][0]) < 6 else "ipmitool sensor")
    output.lines = len(judged)
    for row, state in judged:
        if (fails := _SENSOR_STATES[state]) is not None:
            name = row[1] if row[0].isdigit() else row[0]
            value = next((cell for cell in row[1:] if re.match(r"-?\d+(?:\.\d+)?(?: [A-Za-z]|$)", cell)), "")
            output.complain(NODE, f"{name} is {state} ({value})", fails=fails, remedy="inspect this part of the server")
    return output


def _state(row: list[str]) -> str | None:
    """`name | 23 degrees C | ok`, `name | 04h | ok | 7.1 | 23 degrees C`, `name | 23.0 | degrees C | ok | ...`."""
    if not row[0] or not re.search(r"[A-Za-z]", "".join(row[:2])):
        return None
    places = (2, 3) if len(row) < 6 or re.fullmatch(r"[0-9A-F]{2}h", row[1]) else (3,)
    return next((row[at].lower() for at in places if at < len(row) and row[at].lower() in _SENSOR_STATES), None)
