"""Options and help text of `holdfast gate`, parsed without Typer."""

FLAGS = ("--json", "--tested", "--take", "--accept-degraded")
USAGE = """\
usage: holdfast gate [--max-age SECONDS] [--on-unknown allow|refuse] [--file FILE | --config FILE]
                     [--node NAME] [--drain auto|never] [--tested | --take] [--ask FILE]
                     [--accept-degraded] [--json]

Can work start on this node? Answers from the agent's verdict file and never probes.
Exit codes: 0 pass (work may start), 1 degraded (work may start), 2 fail, 3 unknown, 64 bad usage.

  --max-age SECONDS          an older verdict is unknown (default 120)
  --on-unknown allow|refuse  allow: an unknown exits 0 and says so on stderr (default refuse: 3)
  --file FILE                the verdict file (default /run/holdfast/verdict.json)
  --config FILE              the agent's configuration, if it sets another verdict file or node (some ms slower)
  --node NAME                this node's name, if it differs from the host name (in a container)
  --drain auto|never         auto: in a Slurm prolog or HealthCheckProgram, drain with our reason before refusing
  --tested                   refuse unless the full suite passed and nothing has been started since
  --take                     the same, and consume the pass: the next start needs another test
  --accept-degraded          a degraded node exits 0 too, so that `holdfast gate ... && COMMAND` starts work there
  --ask FILE                 ask the controller too; FILE is the agent's configuration, which names it. If it does not
                             answer within 3 s, work starts only after a full test since the last use
  --json                     print one JSON document
"""


class Usage(Exception):
    """The command line cannot be understood; the message says why."""


class GateOptions:
    def __init__(self) -> None:
        self.max_age = 120.0
        self.on_unknown = "refuse"
        self.drain = "auto"
        self.file = ""
        self.config = ""
        self.node = ""
        self.ask = ""  # path of the agent's configuration, if the controller is asked too
        self.json = False
        self.tested = False
        self.use_up = False
        self.accept_degraded = False
        self.twin = False  # only the agent's own configuration may set it

    def raise_flag(self, name: str) -> None:
        self.json |= name == "--json"
        self.tested |= name in ("--tested", "--take")
        self.use_up |= name == "--take"
        self.accept_degraded |= name == "--accept-degraded"

    def take(self, name: str, value: str) -> None:
        if name == "--max-age":
            self.max_age = _seconds(value)
        elif name == "--on-unknown":
            self.on_unknown = _one_of(name, value, "allow", "refuse")
        elif name == "--drain":
            self.drain = _one_of(name, value, "auto", "never")
        elif name in ("--file", "--config", "--node", "--ask"):
            if not value:
                raise Usage(f"{name} needs a value")
            setattr(self, name[2:], value)
        else:
            raise Usage(f"unknown option {name!r}")


def parse(argv: list[str]) -> GateOptions:
    options = GateOptions()
    left = list(argv)
    while left:
        name, equals, value = left.pop(0).partition("=")
        if name in FLAGS and not equals:
            options.raise_flag(name)
            continue
        if not name.startswith("--"):
            raise Usage(f"unexpected argument {name!r}")
        if not equals:
            if not left:
                raise Usage(f"{name} needs a value")
            value = left.pop(0)
        options.take(name, value)
    if options.file and options.config:
        raise Usage("give --file or --config, not both")
    return options


def _seconds(value: str) -> float:
    try:
        seconds = float(value)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise Usage(f"--max-age: expected a positive number of seconds, found {value!r}")
    return seconds


def _one_of(name: str, value: str, *allowed: str) -> str:
    if value not in allowed:
        raise Usage(f"{name}: expected {' or '.join(allowed)}, found {value!r}")
    return value
