"""Slurm commands, run with a clean environment, in UTC and with a timeout."""

import os
import time
from collections.abc import Callable, Mapping

from holdfast.formats.slurm import jobs as slurm_jobs
from holdfast.formats.slurm import nodes as slurm_nodes
from holdfast.formats.slurm.nodes import SlurmNode
from holdfast.model.job import Job
from holdfast.runtime import process
from holdfast.runtime.errors import NoAnswer

# Errors that a retry does not fix. A refusal by slurmctld or munge is not one: an operator repairs that.
_PASSING = ("auth", "munge", "credential", "contact slurm controller", "protocol")
_FINAL = ("invalid", "denied", "not permitted", "not found", "unrecognized", "no longer", "disabled")
_UNKNOWN_NODE = ("not found", "invalid node name")
_SITE_FORMATS = (
    *("SQUEUE_", "SACCT_", "SINFO_", "SCONTROL_"),
    *("SLURM_TIME_FORMAT", "SLURM_JSON", "SLURM_YAML", "SLURM_CLUSTERS"),
)
_HOLDING = "RUNNING,COMPLETING,SUSPENDED,STOPPED,CONFIGURING,RESIZING,SIGNALING,STAGE_OUT"
_ENDED = "COMPLETED,FAILED,CANCELLED,TIMEOUT,NODE_FAIL,PREEMPTED,OUT_OF_MEMORY,BOOT_FAIL,DEADLINE"
_TIMES = ("StartTime", "EndTime")
_COLUMNS = (
    "JobID",
    "JobArrayID",
    "Account",
    "UserName",
    "State",
    "Reason",
    *_TIMES,
    "exit_code",
    "tres-alloc",
    "NodeList",
)
_NAMES = ("JobIDRaw", "JobID", *_COLUMNS[2:])
_ACCOUNTED = ("JobIDRaw", "JobID", "Account", "User", "State", "Start", "End", "ExitCode", "AllocTRES", "NodeList")


class SlurmCommands:
    def __init__(self, timeout: float, environ: Mapping[str, str] | None = None) -> None:
        self._timeout = timeout
        given = os.environ if environ is None else environ
        # A user's squeue format or time zone must not change the output.
        kept = {name: value for name, value in given.items() if not name.startswith(_SITE_FORMATS)}
        self._environ = {**kept, "TZ": "UTC", "LC_ALL": "C"}
        self._readers: list[Callable[[], list[SlurmNode] | None]] = [
            lambda: slurm_nodes.from_json(self.ask("scontrol", "show", "nodes", "--json")),  # 23.02 and later
            lambda: slurm_nodes.from_json(self.ask("sinfo", "-a", "--json")),  # 21.08 to 22.05
            lambda: slurm_nodes.from_scontrol(self.ask("scontrol", "-a", "-o", "show", "node")),
        ]

    def ask(self, *command: str) -> str:
        binary = process.find(command[0], self._environ.get("PATH", ""))
        answer = process.run((binary, *command[1:]), self._environ, self._timeout)
        if answer.code != 0:
            message = answer.message or f"exit code {answer.code}"
            final = any(word in message.lower() for word in _FINAL) and not any(
                word in message.lower() for word in _PASSING
            )
            raise NoAnswer(f"{' '.join(command[:2])}: {message}", retryable=not final)
        return answer.out

    def node(self, name: str) -> SlurmNode | None:
        """One node; None if Slurm does not know the name."""
        try:
            shown = slurm_nodes.from_scontrol(self.ask("scontrol", "show", "node", name))
        except NoAnswer as error:
            if any(word in str(error).lower() for word in _UNKNOWN_NODE):
                return None
            raise
        for node in shown:
            if node.name == name:
                return node
        raise NoAnswer(f"scontrol show node {name} did not print its state", retryable=True)

    def nodes(self) -> list[SlurmNode]:
        """All nodes, by the first command that this version of Slurm supports; the choice is cached."""
        trouble = NoAnswer("Slurm reported no nodes", retryable=True)
        for reader in list(self._readers):
            try:
                nodes = reader()
            except NoAnswer as error:
                if error.retryable:
                    raise  # Slurm is down; another command would wait just as long
                trouble = error
                nodes = None
            if nodes:
                self._readers = [reader]
                return nodes
        raise trouble

    def jobs(self, node: str = "", *, ended: bool = False) -> list[Job]:
        """Jobs that hold nodes now, optionally with recently ended ones (Slurm keeps them for MinJobAge, 300 s).

        The output is a table, because the JSON of some versions always contains the whole queue.
        """
        where = ("-w", node) if node else ()
        states = f"{_HOLDING},{_ENDED}" if ended else _HOLDING
        columns = ",".join(f"{column}:|" for column in _COLUMNS)
        try:
            text = self.ask("squeue", "-a", "-h", "-r", "-t", states, *where, "-O", columns)
            found = slurm_jobs.from_table(text, _NAMES, delimiter="|")
            if found.unreadable:
                raise NoAnswer(f"squeue: {found.unreadable} lines could not be read", retryable=False)
            jobs = found.whole
        except NoAnswer as error:
            if error.retryable:
                raise
            reported = slurm_jobs.from_json(self.ask("squeue", "-a", "--json"))
            if reported is None:
                raise
            jobs = [job for job in reported if not node or node in job.nodes]
        return [job for job in jobs if job.state.holds_nodes or (ended and job.end is not None)]

    def accounted(self, since: float) -> list[Job]:
        """Jobs since a time, from the accounting. Raises NoAnswer if the site has none."""
        begin = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(since))
        text = self.ask("sacct", "-a", "-X", "-P", "-n", "-S", begin, "-o", ",".join(_ACCOUNTED))
        return slurm_jobs.from_table(text, _ACCOUNTED, delimiter="|").whole
