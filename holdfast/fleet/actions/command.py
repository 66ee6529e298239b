"""Site command for a verb: a reset, a reboot, a ticket. An argument list with placeholders.

The command gets a minimal environment, without the controller's variables (passwords, database) unless configured.
"""

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from holdfast.fleet.actions import template
from holdfast.fleet.actions.backend import ActionOutcome, done, failed, refused, unanswered, would
from holdfast.formats.slurm import fields as slurm
from holdfast.model.lifecycle import Action, Verb
from holdfast.runtime import process
from holdfast.runtime.errors import NoAnswer

_ALWAYS_KEPT = ("PATH", "HOME", "LANG", "TZ")


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandSettings:
    commands: Mapping[Verb, Sequence[str]]
    """The argument list of each verb, with {node} {verb} {reason} {cause} {key}."""
    timeout: float = 60.0
    """Seconds; then the command and all its children are ended."""
    keep: tuple[str, ...] = ()
    """Names of environment variables that the commands need besides PATH, HOME, LANG and TZ."""
    retry_codes: frozenset[int] = frozenset({os.EX_TEMPFAIL})
    """Exit codes that mean 'try again later'. 75 (EX_TEMPFAIL) says that nothing was done. After any other, like ssh's
    255 for a lost connection, it may have run: it is repeated with `checks` or `idempotent` only."""
    checks: Mapping[Verb, Sequence[str]] = field(default_factory=dict)
    """The argument list that says whether an action that may have run did: exit code 0 is yes, 1 is no. Without one,
    such an action is not repeated."""
    idempotent: bool = False
    """The commands know an action by its {key} and do it once: an action that may have run is run again, without
    `checks`."""

    def __post_init__(self) -> None:
        for verb, command in (*self.commands.items(), *self.checks.items()):
            if isinstance(command, str) or not command or not command[0]:
                raise ValueError(f"command.{verb.value}: expected a list of arguments, found {command!r}")
            template.check(f"command.{verb.value}", list(command))


class Command:
    name = "command"

    def __init__(self, settings: CommandSettings) -> None:
        self._settings = settings
        self.verbs = frozenset(settings.commands)
        self.idempotent = settings.idempotent

    def did_run(self, action: Action) -> bool | None:
        check = self._settings.checks.get(action.verb)
        if check is None:
            return None
        try:
            code = self._call([template.fill(argument, action) for argument in check]).code
        except NoAnswer:
            return None
        return {0: True, 1: False}.get(code)

    def perform(self, action: Action, dry_run: bool) -> ActionOutcome:
        if action.verb not in self.verbs:
            return refused(f"no command is set for {action.verb.value}")
        if not slurm.ONE_NODE.fullmatch(action.node):
            return refused(f"{action.node!r} is not the name of one node")
        command = [template.fill(argument, action) for argument in self._settings.commands[action.verb]]
        if dry_run:
            return would(f"run: {shlex.join(command)}")
        try:
            return self._run(command)
        except NoAnswer as error:
            return unanswered(error)

    def _call(self, command: Sequence[str]) -> process.CommandResult:
        kept = (*_ALWAYS_KEPT, *self._settings.keep)
        environ = {name: os.environ[name] for name in kept if name in os.environ}
        binary = process.find(command[0], environ.get("PATH", ""))
        return process.run((binary, *command[1:]), environ, self._settings.timeout)

    def _run(self, command: Sequence[str]) -> ActionOutcome:
        answer = self._call(command)
        message = f": {answer.message}" if answer.message else ""
        if answer.code == 0:
            return done(f"{command[0]} succeeded{message}")
        retryable = answer.code in self._settings.retry_codes
        why = f"{command[0]} ended with exit code {answer.code}{message}"
        return failed(why, retryable=retryable, not_begun=answer.code == os.EX_TEMPFAIL)
