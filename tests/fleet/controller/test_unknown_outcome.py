"""Actions whose outcome is not known: performed once, unless the world says that they did not run."""

import asyncio
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from holdfast.fleet.actions.backend import ActionOutcome, Backend, done, failed, not_now
from holdfast.fleet.actions.command import Command, CommandSettings
from holdfast.fleet.actions.kubernetes.access import KubernetesSettings
from holdfast.fleet.actions.redfish.backend import Redfish, RedfishSettings
from holdfast.fleet.actions.secret import Secret
from holdfast.fleet.actions.slurm.backend import SlurmSettings
from holdfast.fleet.actions.webhook import Webhook, WebhookSettings
from holdfast.fleet.controller.actor import Actor
from holdfast.fleet.controller.backends import Backends
from holdfast.fleet.controller.claims import MOST_ATTEMPTS
from holdfast.fleet.controller.orders import PendingOrders
from holdfast.fleet.controller.settings import Controlling
from holdfast.fleet.controller.transaction import ReportWork, Transaction
from holdfast.fleet.decisions.fleet import Fleet
from holdfast.fleet.decisions.lifecycle.policy import Policy
from holdfast.fleet.store import Store
from holdfast.model.lifecycle import Action, EventKind, NodeEvent, NodeState, Stage, Verb
from holdfast.model.records import LifecycleStep, Outcome, StoredAction, Transition
from tests.counts import draws
from tests.fleet.actions.conftest import Peer
from tests.fleet.actions.conftest import peer as peer
from tests.stores import new_store

STAGES = {Verb.REBOOT: Stage.RESETTING, Verb.CORDON: Stage.TESTING}
ROUNDS = 3 * MOST_ATTEMPTS


@dataclass
class World:
    """The actor, the store and the decisions of a controller in virtual time, with one back end."""

    folder: Path
    backend: Backend
    verb: Verb = Verb.REBOOT
    leads_surely: bool = True
    lost: Callable[[], bool] = lambda: False
    now: float = 10.0

    def __post_init__(self) -> None:
        node = NodeState(name="n1", stage=STAGES[self.verb], cause="gpu.xid", repair_step=1, failed=True)
        self.store = Store.open(new_store(self.folder / "holdfast.db"))
        self.epoch = self.store.lead("one", 1e9) or 0
        self.fleet = Fleet(Policy(dry_run=False), [node])
        event = NodeEvent(kind=EventKind.NEXT_REPAIR)
        moved = Transition(node="n1", at=1.0, before=node.stage, after=node.stage, event=event, reason="")
        wanted = Action(node="n1", verb=self.verb, reason="Xid 79", at=1.0)
        self.store.transit_all([LifecycleStep(node=node, transition=moved, actions=(wanted,))], self.epoch)

    # As the actor knows its back ends and its writer

    scheduler, agent_verbs = None, frozenset[Verb]()

    def of(self, verb: Verb) -> Backend:
        return self.backend

    def dry_run(self, node: str) -> bool:
        return False

    async def ask(self, work: ReportWork) -> Any:
        if work.do.func.__name__ == "end" and self.lost():  # type: ignore[attr-defined]
            raise OSError("the controller stops before the outcome is stored")
        return work.do(Transaction(self.store, self.fleet, PendingOrders(), self.epoch, self.now), ())

    def run(self, rounds: int = ROUNDS) -> StoredAction:
        async def rounds_of_claims() -> None:
            actor = Actor(self, self)  # type: ignore[arg-type]
            for _ in range(rounds):
                await actor._claim()
                await asyncio.gather(*actor._tasks)
                self.now += 1_000.0
            actor.stop()

        asyncio.run(rounds_of_claims())
        [shown] = [one for one in self.store.actions("n1", 10) if one.action.verb is self.verb]
        self.store.close()
        return shown


# ---------------------------------------------------------------- every back end there is


def answers_of(peer: Peer, kind: str) -> list[str]:
    """A peer that carries out each POST and then gives an answer that says nothing of it."""
    ran: list[str] = []

    def answer(request: Any) -> tuple[int, dict[str, str], bytes] | None:
        if request.path.endswith("/Sessions"):
            return 201, {"X-Auth-Token": "t"}, b"{}"
        if request.method == "POST":
            ran.append(request.path)
            return None if kind == "closed" else (int(kind), {}, b"later")
        pages = {
            "/redfish/v1/Systems": b'{"Members": [{"@odata.id": "/redfish/v1/Systems/1"}]}',
            "/redfish/v1/Systems/1": b'{"PowerState": "On", "Actions": {"#ComputerSystem.Reset": {"target": "/reset",'
            b' "ResetType@Redfish.AllowableValues": ["PowerCycle"]}}}',
        }
        return 200, {}, pages.get(request.path, b"{}")

    peer.answer = answer
    return ran


@pytest.mark.parametrize("kind", ["closed", "500", "502", "504"])
@pytest.mark.parametrize("name", ["webhook", "redfish"])
def test_a_peer_that_acts_and_does_not_answer_is_asked_once(peer: Peer, tmp_path: Path, name: str, kind: str) -> None:
    ran = answers_of(peer, kind)
    (tmp_path / "password").write_text("pw\n")
    password = Secret(file=str(tmp_path / "password"))
    backend: Backend = (
        Webhook(WebhookSettings(url=peer.url, verbs=frozenset({Verb.REBOOT})))
        if name == "webhook"
        else Redfish(RedfishSettings(address=peer.url, user="u", password=password), sleep=lambda seconds: None)
    )
    ended = World(tmp_path, backend).run()
    assert len(ran) == 1
    assert ended.state is Outcome.ABANDONED and "not repeated" in ended.detail


@pytest.mark.parametrize(("status", "headers"), [(429, {}), (503, {"Retry-After": "1"})])
def test_a_peer_that_says_it_did_nothing_is_asked_again(
    peer: Peer, tmp_path: Path, status: int, headers: dict[str, str]
) -> None:
    peer.answer = lambda request: (status if len(peer.seen) < 3 else 204, headers, b"")
    ended = World(tmp_path, Webhook(WebhookSettings(url=peer.url, verbs=frozenset({Verb.REBOOT})))).run()
    assert (len(peer.seen), ended.state) == (3, Outcome.DONE)


def test_a_mesh_that_lost_the_server_after_the_request_is_not_asked_again(peer: Peer, tmp_path: Path) -> None:
    """Envoy answers 503 without Retry-After when the connection to the server ends after the request was sent."""
    peer.answer = lambda request: (503, {}, b"upstream connect error or disconnect/reset before headers")
    ended = World(tmp_path, Webhook(WebhookSettings(url=peer.url, verbs=frozenset({Verb.REBOOT})))).run()
    assert (len(peer.seen), ended.state) == (1, Outcome.ABANDONED)


def test_a_receiver_that_knows_keys_is_asked_again(peer: Peer, tmp_path: Path) -> None:
    peer.answer = lambda request: (504 if len(peer.seen) < 3 else 204, {}, b"")
    hook = Webhook(WebhookSettings(url=peer.url, verbs=frozenset({Verb.REBOOT}), idempotent=True))
    assert World(tmp_path, hook).run().state is Outcome.DONE
    assert len(peer.seen) == 3


LOST = "echo ran >> {ran}; exit 255"  # as ssh ends when its connection is lost
HANGS = "echo ran >> {ran}; exec sleep 600"


@pytest.mark.parametrize(
    ("script", "check", "times"),
    [
        (LOST, "", 1),
        (HANGS, "", 1),
        (LOST, "exit 0", 1),
        (LOST, "exit 9", 1),
        (LOST, "exit 1", MOST_ATTEMPTS),
        ("echo ran >> {ran}; exit 75", "", MOST_ATTEMPTS),
    ],
)
def test_a_command_without_an_answer_runs_again_only_if_its_check_allows_it(
    tmp_path: Path, script: str, check: str, times: int
) -> None:
    ran = tmp_path / "ran"
    ran.touch()
    command = Command(
        CommandSettings(
            commands={Verb.REBOOT: ["sh", "-c", script.format(ran=ran)]},
            checks={Verb.REBOOT: ["sh", "-c", check]} if check else {},
            timeout=2.0 if script is HANGS else 60.0,
            retry_codes=frozenset({75, 255}),
        )
    )
    World(tmp_path, command).run()
    # A busy machine can be late with the first line of a command that hangs.
    assert len(ran.read_text().split()) in ((0, 1) if script is HANGS else (times,))


def test_a_connection_that_was_never_made_is_tried_again(tmp_path: Path, peer: Peer) -> None:
    nowhere = Webhook(WebhookSettings(url="http://127.0.0.1:1/", verbs=frozenset({Verb.REBOOT})))
    ended = World(tmp_path, nowhere).run()
    assert (ended.state, ended.attempts) == (Outcome.FAILED, MOST_ATTEMPTS)


def test_every_back_end_is_idempotent_or_can_say_whether_it_ran(tmp_path: Path) -> None:
    """A new back end must be decided here: which are performed again without a question."""
    backends = Backends(
        Controlling(
            slurm=SlurmSettings(),
            kubernetes=KubernetesSettings(),
            redfish=RedfishSettings(user="u", password=Secret(env="NONE")),
            command=CommandSettings(commands={Verb.REBOOT: ["reboot"]}),
            webhooks={"a": WebhookSettings(url="http://a/", verbs=frozenset({Verb.TICKET}))},
        )
    )
    shown = {name: one.idempotent for name, one in backends._by_name.items()}
    read_first = {"slurm": True, "kubernetes": True, "record": True, "simulated": True}
    assert shown == {**read_first, "redfish": False, "command": False, "webhook.a": False}


# ---------------------------------------------------------------- any back end

Call = tuple[str, bool]  # the answer, and whether the action took effect


@dataclass
class Drawn:
    """A back end whose calls end as drawn; when all are used up it succeeds."""

    calls: list[Call]
    knows: list[bool]
    idempotent: bool
    effects: int = 0
    name: str = "any"
    verbs: frozenset[Verb] = frozenset(Verb)
    performed: list[str] = field(default_factory=list)

    def did_run(self, action: Action) -> bool | None:
        return self.effects > 0 if not self.knows or self.knows.pop(0) else None

    def perform(self, action: Action, dry_run: bool) -> ActionOutcome:
        answer, effect = self.calls.pop(0) if self.calls else ("done", True)
        self.performed.append(answer)
        certainly_not = answer in ("not begun", "not now")
        self.effects += effect and not certainly_not
        if answer == "raises":
            raise RuntimeError("a mistake")
        return {
            "done": done("done"),
            "no answer": failed("no answer in time", retryable=True),
            "not begun": failed("busy", retryable=True, not_begun=True),
            "not now": not_now("waits"),
            "fails": failed("exit code 1", retryable=False),
        }[answer]


calls = st.lists(
    st.tuples(st.sampled_from(["no answer", "not begun", "not now", "raises", "fails"]), st.booleans()), max_size=6
)


@settings(max_examples=draws(5, 30), deadline=None)
@given(
    calls,
    st.lists(st.booleans(), max_size=4),
    st.booleans(),
    st.sampled_from(sorted(STAGES)),
    st.lists(st.booleans(), max_size=4),
)
@example([("no answer", True), ("no answer", True)], [False], False, Verb.REBOOT, [])
@example([("no answer", True)], [], False, Verb.CORDON, [True])
def test_no_effect_twice(
    drawn: list[Call], knows: list[bool], idempotent: bool, verb: Verb, lost: Sequence[bool]
) -> None:
    backend = Drawn(list(drawn), list(knows), idempotent)
    losses = list(lost)
    with tempfile.TemporaryDirectory() as folder:
        ended = World(Path(folder), backend, verb, lost=lambda: bool(losses) and losses.pop(0)).run(25)
    assert idempotent or backend.effects <= 1
    assert ended.state is not Outcome.PROPOSED, "it came to an end"
    if not idempotent and ended.state is Outcome.DONE:
        assert backend.effects == 1, "what is reported as done was done"


def test_what_is_known_not_to_have_run_is_performed(tmp_path: Path) -> None:
    """Without this, a rule that never repeats anything would pass."""
    backend = Drawn([("no answer", False)] * 3, [], idempotent=False)
    assert World(tmp_path, backend).run().state is Outcome.DONE
    assert backend.performed == ["no answer"] * 3 + ["done"]


def test_a_wait_in_between_does_not_forget_that_it_may_have_run(tmp_path: Path) -> None:
    class Scheduler:
        name = "slurm"

        def __init__(self) -> None:
            self.waits = ["", "n1 is IDLE", ""]

        def close_for_repair(self, action: Action) -> str:
            return self.waits.pop(0)

    backend = Drawn([("no answer", True)], [False] * 5, idempotent=False)
    world = World(tmp_path, backend)
    world.scheduler = Scheduler()  # type: ignore[assignment]
    assert world.run(4).state is Outcome.ABANDONED
    assert backend.effects == 1
