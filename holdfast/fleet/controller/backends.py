"""Maps verbs to back ends, from the configuration."""

from collections.abc import Mapping

from holdfast.fleet.actions.backend import ActionOutcome, Backend, Scheduler, done, failed, would
from holdfast.fleet.actions.command import Command
from holdfast.fleet.actions.kubernetes.backend import Kubernetes
from holdfast.fleet.actions.redfish.backend import Redfish
from holdfast.fleet.actions.slurm.backend import Slurm
from holdfast.fleet.actions.webhook import Webhook
from holdfast.fleet.controller.settings import (
    AGENT,
    COMMAND,
    KUBERNETES,
    RECORD,
    REDFISH,
    SIMULATED,
    SLURM,
    Controlling,
)
from holdfast.model.lifecycle import Action, Verb

_NEEDS_A_DOER = frozenset({Verb.RETEST, Verb.RESET_GPU, Verb.REBOOT, Verb.INSPECT})


class Record:
    """Used without a configured back end. The gate and operators read the stage, so recording a cordon is enough.

    A reset without a back end is reported as failed.
    """

    name = RECORD
    verbs = frozenset(Verb)
    idempotent = True

    def did_run(self, action: Action) -> bool | None:
        return False

    def perform(self, action: Action, dry_run: bool) -> ActionOutcome:
        if action.verb in _NEEDS_A_DOER:
            return failed(f"no back end is set up that can {action.verb.value}", retryable=False)
        message = f"record {action.verb.value} of {action.node}: no back end is set up for it"
        return would(message) if dry_run else done(f"recorded only: no back end is set up for {action.verb.value}")


class Simulated:
    """Scheduler and hardware of the demo: every action succeeds at once."""

    name = SIMULATED
    verbs = frozenset(Verb)
    idempotent = True

    def did_run(self, action: Action) -> bool | None:
        return False

    def perform(self, action: Action, dry_run: bool) -> ActionOutcome:
        return would(f"{action.verb.value} {action.node}") if dry_run else done(f"{action.verb.value}: simulated")


class Backends:
    def __init__(self, settings: Controlling) -> None:
        self.slurm = Slurm(settings.slurm) if settings.slurm is not None else None
        self.kubernetes = Kubernetes(settings.kubernetes) if settings.kubernetes is not None else None
        self._by_verb = settings.actions
        self._by_name: dict[str, Backend] = {RECORD: Record(), SIMULATED: Simulated()}
        if self.slurm is not None:
            self._by_name[SLURM] = self.slurm
        if self.kubernetes is not None:
            self._by_name[KUBERNETES] = self.kubernetes
        if settings.redfish is not None:
            self._by_name[REDFISH] = Redfish(settings.redfish)
        if settings.command is not None:
            self._by_name[COMMAND] = Command(settings.command)
        named = {f"webhook.{name}": one for name, one in settings.webhooks.items()}
        hooks: Mapping[str, Backend] = {name: Webhook(one, name) for name, one in named.items()}
        self._by_name.update(hooks)

    @property
    def agent_verbs(self) -> frozenset[Verb]:
        """Verbs that the agent of the node carries out, not the controller."""
        return frozenset(verb for verb, name in self._by_verb.items() if name == AGENT)

    @property
    def scheduler(self) -> Scheduler | None:
        return self.slurm or self.kubernetes

    def of(self, verb: Verb) -> Backend:
        """A configured scheduler carries out every verb that it supports, unless the configuration names another back
        end."""
        name = self._by_verb.get(verb)
        if name is None:
            name = self.scheduler.name if self.scheduler is not None and verb in self.scheduler.verbs else RECORD
        return self._by_name[name]
