"""Power control through the BMC: restarts a node over Redfish by a method that its firmware lists."""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from holdfast.fleet.actions import template
from holdfast.fleet.actions.backend import ActionOutcome, done, failed, nothing_to_do, refused, unanswered, would
from holdfast.fleet.actions.redfish.session import RedfishSession
from holdfast.fleet.actions.secret import Secret
from holdfast.formats.slurm import fields as slurm
from holdfast.model.lifecycle import Action, Verb
from holdfast.runtime import http
from holdfast.runtime.errors import NoAnswer

_RESET = "#ComputerSystem.Reset"
_ALLOWED = "ResetType@Redfish.AllowableValues"
_FROM_OFF = ("On", "ForceOn")
_CLOCK_SLACK = 2.0  # seconds: the date header has whole seconds, and the answer took time
Resource = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class RedfishSettings:
    address: str = "https://{node}-bmc"
    """Where a node's BMC is, with {node}."""
    addresses: Mapping[str, str] = field(default_factory=dict)
    """The same for single nodes that do not fit the rule."""
    user: str
    password: Secret
    session: bool = True
    """Log in for a token; False sends the password with each request (basic authentication)."""
    system: str = ""
    """Id of the system on a BMC that has several; '' is the only one."""
    reset_types: tuple[str, ...] = ("ForceRestart", "PowerCycle", "GracefulRestart")
    """The first that the firmware allows is used. Forced first: the node is empty, and a sick one may not obey."""
    ca_file: str = ""
    verify_tls: bool = True
    timeout: float = 20.0
    """Seconds for one request; BMCs are slow."""
    settle_seconds: float = 300.0
    """How long the power may take to come back before the restart counts as failed."""
    poll_seconds: float = 3.0

    def __post_init__(self) -> None:
        for where, address in (("redfish.address", self.address), *self.addresses.items()):
            template.check(where, address)
            http.check_url(where, address.replace("{node}", "node"))
        if not self.reset_types:
            raise ValueError("redfish.reset_types: expected at least one kind of reset")


@dataclass(frozen=True, slots=True)
class PlannedReset:
    system: str
    target: str
    kind: str


class Redfish:
    name = "redfish"
    verbs = frozenset({Verb.REBOOT})

    def __init__(self, settings: RedfishSettings, sleep: Callable[[float], None] = time.sleep) -> None:
        self._settings = settings
        self._sleep = sleep
        self._tls = http.tls(settings.ca_file, settings.verify_tls)

    idempotent = False

    def did_run(self, action: Action) -> bool | None:
        """Whether the reset ran, from the BMC's record of its last reset, if it has one. A node that is off did not
        restart; switching it on is not a restart."""
        try:
            with self._connect(action) as bmc:
                system = bmc.get(self._system(bmc))
                if system.get("PowerState") == "Off":
                    return False
                return _was_reset_since(bmc, system, action.at)
        except NoAnswer:
            return None

    def perform(self, action: Action, dry_run: bool) -> ActionOutcome:
        if action.verb not in self.verbs:
            return refused(f"Redfish does not know how to {action.verb.value}")
        if not slurm.ONE_NODE.fullmatch(action.node):
            return refused(f"{action.node!r} is not the name of one node")
        try:
            with self._connect(action) as bmc:
                planned = self._plan(bmc, action, dry_run)
                return planned if isinstance(planned, ActionOutcome) else self._restart(bmc, action.node, planned)
        except NoAnswer as error:
            return failed(str(error), retryable=error.retryable, not_begun=True)  # no reset was posted

    def _connect(self, action: Action) -> RedfishSession:
        one = self._settings
        return RedfishSession(
            template.fill(one.addresses.get(action.node, one.address), action),
            one.user,
            one.password.read(),
            session=one.session,
            timeout=one.timeout,
            tls=self._tls,
        )

    def _plan(self, bmc: RedfishSession, action: Action, dry_run: bool) -> ActionOutcome | PlannedReset:
        path = self._system(bmc)
        system = bmc.get(path)
        off = system.get("PowerState") == "Off"
        if not off and _was_reset_since(bmc, system, action.at):
            return nothing_to_do(f"{action.node} was restarted since this was requested")
        target, allowed = _reset(bmc, system)
        kind = next((one for one in (_FROM_OFF if off else self._settings.reset_types) if one in allowed), "")
        if not kind:
            return refused(
                f"the BMC of {action.node} allows {', '.join(allowed) or 'no reset'}, but the configuration does not"
            )
        if dry_run:
            return would(f"post {kind} to {target} on the BMC of {action.node}, which is {system.get('PowerState')}")
        return PlannedReset(path, target, kind)

    def _restart(self, bmc: RedfishSession, node: str, planned: PlannedReset) -> ActionOutcome:
        try:
            bmc.post(planned.target, {"ResetType": planned.kind})
        except NoAnswer as error:
            return unanswered(error)
        return self._settle(bmc, planned.system, node, planned.kind)

    def _system(self, bmc: RedfishSession) -> str:
        paths = [path for one in _list(bmc.get("/redfish/v1/Systems"), "Members") if (path := _path(one))]
        wanted = self._settings.system
        fitting = [path for path in paths if not wanted or path.rstrip("/").rpartition("/")[2] == wanted]
        if len(fitting) != 1:
            ids = ", ".join(path.rstrip("/").rpartition("/")[2] for path in paths[:8])
            raise NoAnswer(f"the BMC has {len(paths)} systems ({ids}); name one of them", retryable=False)
        return fitting[0]

    def _settle(self, bmc: RedfishSession, path: str, node: str, kind: str) -> ActionOutcome:
        """Waits until the state "On" was read twice: right after a reset a BMC still reports the old state."""
        state: object = "unknown"
        times_on = 0
        for _ in range(max(2, math.ceil(self._settings.settle_seconds / self._settings.poll_seconds))):
            self._sleep(self._settings.poll_seconds)
            try:
                state = bmc.get(path).get("PowerState")
            except NoAnswer as error:
                state = error
            times_on = times_on + 1 if state == "On" else 0
            if times_on == 2:
                return done(f"{node} was restarted ({kind}) and is on; its test shows whether it is healthy")
        seconds = self._settings.settle_seconds
        return failed(f"{node} was sent {kind}, but after {seconds:g} s its power is: {state}", retryable=True)


def _reset(bmc: RedfishSession, system: Resource) -> tuple[str, list[str]]:
    """The address for a reset and the allowed kinds, which the firmware lists in place or on a separate page."""
    actions = system.get("Actions")
    reset = actions.get(_RESET) if isinstance(actions, dict) else None
    if not isinstance(reset, dict) or not isinstance(reset.get("target"), str):
        raise NoAnswer("the BMC offers no reset of the system", retryable=False)
    allowed = reset.get(_ALLOWED)
    info = reset.get("@Redfish.ActionInfo")
    if not isinstance(allowed, list) and isinstance(info, str):
        parameters = _list(bmc.get(info), "Parameters")
        allowed = next((one.get("AllowableValues") for one in parameters if one.get("Name") == "ResetType"), None)
    kinds = [one for one in allowed if isinstance(one, str)] if isinstance(allowed, list) else []
    return str(reset["target"]), kinds


def _list(resource: Resource, name: str) -> list[Resource]:
    found = resource.get(name)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _path(resource: Resource) -> str:
    path = resource.get("@odata.id")
    return path if isinstance(path, str) else ""


def _was_reset_since(bmc: RedfishSession, system: Resource, at: float) -> bool | None:
    """Whether the system was reset since this time (our clock); None if unknown. The clock of a BMC is often wrong by
    years, so it is corrected first: otherwise a reset could look older than its request and be repeated."""
    last = _time(system.get("LastResetTime"))
    if last is None or bmc.ahead is None or not at:
        return None
    return last - bmc.ahead > at - _CLOCK_SLACK


def _time(text: object) -> float | None:
    try:
        moment = datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        return None
    return moment.timestamp() if moment is not None and moment.tzinfo is not None else None
