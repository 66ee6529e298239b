"""Names of option values in help texts: one name per kind of value in every command."""

from typing import Any

# Parameter name -> name of its value. A parameter that is not listed uses its own last word: --pool POOL.
VALUES = {
    "baseline": "FILE",
    "by": "WHAT",
    "calibrate": "FILE",
    "calm": "SHARE",
    "compare": "SCENARIO",
    "config": "FILE",
    "files": "FOLDER",
    "golden": "FILE",
    "hosts": "FILE",
    "into": "FOLDER",
    "kernel_log": "FILE",
    "lacks": "PARTS",
    "largest": "SIZE",
    "lasts": "TIME",
    "listen": "HOST:PORT",
    "match": "TEXT",
    "nccl_tests": "WHAT",
    "on": "WHERE",
    "out": "FILE",
    "pair_bytes": "SIZE",
    "plot": "FILE",
    "paths": "PATH",
    "precision": "SHARE",
    "prices": "FILE",
    "probe": "COMMAND",
    "ras": "HOST:PORT",
    "root": "FOLDER",
    "seen": "FILE",
    "set": "NAME=VALUE",
    "since": "TIME",
    "slurm": "HOSTLIST",
    "smallest": "SIZE",
    "speed": "FACTOR",
    "spoil": "RANK:BYTES",
    "store": "HOST:PORT",
    "sweep": "NAME=VALUES",
    "topology": "WHAT",
    "wanted": "ID",
}
LONGEST_LINE = 62  # room beside the longest command name on a terminal of 80 columns
CUTS = (": ", "; ", ", and ", ", ", " with ", " through ")
NUMBERS = ("int", "integer", "int range", "integer range")


def tidy(command: Any) -> Any:
    """Tidies the help of a command and its sub-commands: no --no- for flags that are off, names instead of types."""
    for one in command.params:
        if getattr(one, "is_flag", False):
            if one.default is False:
                one.secondary_opts = []
        elif one.metavar is None and one.name not in ("help", "version"):
            one.metavar = _called(one) + ("..." if one.nargs == -1 else "")
    for below in getattr(command, "commands", {}).values():
        below.short_help = _line(below.help or "")
        tidy(below)
    return command


def _line(text: str) -> str:
    """The first sentence, shortened to its first part if it is too long."""
    sentence = " ".join(text.split("\n\n")[0].split()).partition(". ")[0].removesuffix(".")
    heads = [sentence, *(sentence.partition(cut)[0] for cut in CUTS)]
    return next((head for head in heads if len(head) <= LONGEST_LINE), sentence)


def _called(parameter: Any) -> str:
    name = str(parameter.name).strip("_")
    if name in VALUES:
        return VALUES[name]
    if parameter.param_type_name == "argument":
        return name.upper()
    return "N" if parameter.type.name in NUMBERS else name.rpartition("_")[2].upper()
