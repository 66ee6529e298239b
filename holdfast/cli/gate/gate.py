"""`holdfast gate`: may work start here? Answers from the agent's verdict file and never probes anything.

With `--ask` the controller decides too: a node that it quarantined, holds or has not tested takes no work.
A prolog waits for this on every job start, so the usual path imports only json; no typing, dataclasses or Typer.
"""

import json
import os
import stat
import sys
import time

from holdfast.cli.gate.options import USAGE, GateOptions, Usage, parse

VERDICT_FILE = "/run/holdfast/verdict.json"
FORMAT = 1
MOST_BYTES = 4 << 20  # a verdict file has about 100 kB; a larger file is not ours
CLOCK_SKEW = 5.0  # seconds a verdict may be in the future; beyond that a clock is wrong
EXIT_CODES = {"pass": 0, "degraded": 1, "fail": 2, "unknown": 3}
USAGE_ERROR = 64


class Blind(Exception):
    """There is no usable verdict; the message says why."""


class GateAnswer:
    """The gate's answer: a health, the check that decided, and why."""

    def __init__(self, health: str, reason: str, check: str = "gate", age: float | None = None) -> None:
        self.health = health
        self.reason = reason
        self.check = check
        self.age = age


def main(argv: list[str]) -> int:
    if "--help" in argv or "-h" in argv:
        _print(1, USAGE)
        return 0
    try:
        options = parse(argv)
    except Usage as error:
        _print(2, f"holdfast gate: {error}; see holdfast gate --help\n")
        return USAGE_ERROR
    try:
        return _run(options)
    except Exception as error:  # noqa: BLE001 - the one of this process: a traceback exits 1, which would mean degraded
        lost = GateAnswer("unknown", f"internal error: {type(error).__name__}: {error}")
        _report(options, lost, False, EXIT_CODES["unknown"], "")
        return EXIT_CODES["unknown"]


def _run(options: GateOptions) -> int:
    answer = judge(options, time.time())
    code = EXIT_CODES[answer.health]
    allowed = code < 2 or (answer.health == "unknown" and options.on_unknown == "allow")
    note = ""
    if answer.health == "degraded" and options.accept_degraded:
        code = 0
    elif answer.health == "unknown" and allowed:
        code = 0
        note = "allowed because of --on-unknown allow"
    elif not allowed and options.drain == "auto":
        note = _drain(answer)
    _report(options, answer, allowed, code, note)
    return code


def judge(options: GateOptions, now: float) -> GateAnswer:
    """The controller's answer, then the verdict file. If the file cannot be read, the answer is unknown."""
    admission = _ask_controller(options)
    if admission:
        return GateAnswer("fail", admission, "controller")
    try:
        if options.config:
            _configure(options)
        path = options.file or VERDICT_FILE
        document = _document(path)
        age = _trusted_age(document, options, now)
    except Blind as error:
        return GateAnswer("unknown", str(error))
    health = document["health"]
    if not isinstance(health, str) or health not in EXIT_CODES:
        return GateAnswer("unknown", f"{path}: health is {health!r}", age=age)
    if EXIT_CODES[health] < 2 and (why := _kept_out(path, options, admission)):
        return GateAnswer("fail", why, "controller", age)
    check, reason = _first_cause(document, health)
    return GateAnswer(health, reason, check, age)


def _ask_controller(options: GateOptions) -> str | None:
    """The controller's reason against a start, '' if there is none; None if it was not asked or did not answer."""
    if not options.ask:
        return None
    from holdfast.cli.gate import admission

    try:
        return admission.closed(options.ask)
    except admission.AdmissionUnanswered as error:
        # The safe answer: the controller's last answer, and only a node that passed a full test since its last use.
        options.tested = True
        _print(2, f"holdfast gate: {error}; the mark of the last full test decides\n")
        return None


def _kept_out(path: str, options: GateOptions, admission: str | None) -> str:
    """Why nothing may start on a healthy node: the controller holds it, or a workload ran since its last test."""
    stem = os.path.splitext(path)[0]
    try:
        if admission is None:  # else the controller has just answered that it is open
            return " ".join(_content(stem + ".closed")[:1000].decode("utf-8", "replace").split()) or "closed"
    except Blind:
        if os.path.lexists(stem + ".closed"):
            return f"{stem}.closed cannot be read"
    if not options.tested:
        return ""
    try:
        # Unlinking is atomic: of two starts at the same moment one finds no mark.
        os.unlink(stem + ".tested") if options.use_up else os.stat(stem + ".tested")
    except OSError:
        return "untested: no full suite has passed here since the node was last used"
    return ""


def _configure(options: GateOptions) -> None:
    import tomllib

    try:
        with open(options.config, "rb") as file:
            settings = tomllib.load(file)
        agent = settings.get("agent", {})
        options.file = str(agent.get("verdict_file", VERDICT_FILE))
        options.twin = agent.get("twin", False) is True
        options.node = options.node or str(settings.get("node", ""))
    except (OSError, ValueError, AttributeError, RecursionError) as error:
        raise Blind(f"configuration {options.config} cannot be read: {error}") from None


def _document(path: str) -> dict[str, object]:
    raw = _content(path)
    if len(raw) > MOST_BYTES:
        raise Blind(f"{path} is larger than {MOST_BYTES >> 20} MB and not a verdict file")
    try:
        document = json.loads(raw)
    except (ValueError, RecursionError):
        raise Blind(f"{path} is not valid JSON") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT or "health" not in document:
        raise Blind(f"{path} is not a verdict file of format {FORMAT}")
    return document


def _content(path: str) -> bytes:
    try:
        # Not blocking: a pipe in place of the file must not delay a job's start.
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise Blind(f"{path} is not a regular file")
            with os.fdopen(handle, "rb", closefd=False) as file:
                return file.read(MOST_BYTES + 1)
        finally:
            os.close(handle)
    except FileNotFoundError:
        raise Blind(f"no verdict file {path}; is holdfast agent running?") from None
    except OSError as error:
        raise Blind(f"{path} cannot be read: {error.strerror}") from None


def _trusted_age(document: dict[str, object], options: GateOptions, now: float) -> float:
    """The verdict's age in seconds, if it is about this node, recent, and not simulated."""
    node = str(document.get("node", ""))
    names = _own_names(options)
    if not any(_same_node(node, name) for name in names):
        raise Blind(f"the verdict is about {node or 'no node'}, but this is {' or '.join(names)}")
    if document.get("twin", False) is not False and not options.twin:
        raise Blind("the verdict comes from a simulated node (twin)")
    at = document.get("at")
    if isinstance(at, bool) or not isinstance(at, int | float) or not abs(at) < 1e12:
        raise Blind("the verdict does not say when it was made")
    age = now - at
    if age < -CLOCK_SKEW:
        raise Blind(f"the verdict is {-age:.0f} s in the future; has the clock jumped?")
    if age > options.max_age:
        raise Blind(f"the verdict is {age:.0f} s old, {options.max_age:g} s are allowed; is holdfast agent running?")
    return age


def _own_names(options: GateOptions) -> list[str]:
    names = (options.node or os.uname().nodename, os.environ.get("SLURMD_NODENAME", ""))
    return list(dict.fromkeys(name for name in names if name))


def _same_node(one: str, other: str) -> bool:
    """Equal, or the short and the long form of one name."""
    return one == other or one.partition(".")[0] == other or other.partition(".")[0] == one


def _first_cause(document: dict[str, object], health: str) -> tuple[str, str]:
    """The check that decided the node's health, and its reason; otherwise the file's own summary."""
    summary = str(document.get("reason", ""))
    verdicts = document.get("verdicts")
    rows = [row for row in verdicts if isinstance(row, dict)] if isinstance(verdicts, list) else []
    causes = [row for row in rows if row.get("health") == health] if health != "pass" else []
    if not causes:
        return "node", summary
    reason = str(causes[0].get("reason") or summary)
    more = f" (and {len(causes) - 1} more)" if len(causes) > 1 else ""
    return str(causes[0].get("check", "node")), " ".join(reason.split()) + more


def _drain(answer: GateAnswer) -> str:
    from holdfast.cli.gate import drain as gate_drain

    node = gate_drain.node_of_prolog(os.environ)
    return gate_drain.drain(node, f"{answer.check}: {answer.reason}") if node else ""


def _report(options: GateOptions, answer: GateAnswer, allowed: bool, code: int, note: str) -> None:
    text = answer.health if answer.health == "pass" else f"{answer.health}: {answer.check}: {answer.reason}"
    if note:
        _print(2, f"holdfast gate: {text}; {note}\n")
    if not options.json:
        _print(1, text + "\n")
        return
    document = {
        "health": answer.health,
        "allowed": allowed,
        "exit_code": code,
        "check": answer.check,
        "reason": answer.reason,
        "age_seconds": answer.age,
        "note": note,
    }
    _print(1, json.dumps(document) + "\n")


def _print(handle: int, text: str) -> None:
    """Writes to the descriptor: a closed or full stdout must not change the exit code. A reason may quote the name of a
    user's process, which may contain terminal sequences."""
    shown = "".join(one if one.isprintable() or one == "\n" else "\ufffd" for one in text)
    try:
        os.write(handle, shown.encode("utf-8", "replace"))
    except OSError:
        return


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
