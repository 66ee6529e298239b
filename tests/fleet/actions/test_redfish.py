"""Restarting over Redfish: sushy-tools' emulator, and a BMC of our own where the emulator has no say."""

import json
import os
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest

from holdfast.fleet.actions.backend import ActionOutcome, ActionResult
from holdfast.fleet.actions.redfish.backend import Redfish, RedfishSettings
from holdfast.fleet.actions.secret import Secret
from holdfast.model.lifecycle import Action, Verb
from tests.ports import free_port
from tests.waiting import until

from .conftest import Answer

ACTION = Action(node="n1", verb=Verb.REBOOT, reason="rung 2", at=1_700_000_000.0)
SYSTEM = "/redfish/v1/Systems/1"
RESET = f"{SYSTEM}/Actions/ComputerSystem.Reset"


def settings(url: str, tmp_path: Path, **more: Any) -> RedfishSettings:
    (tmp_path / "password").write_text("pw-of-the-bmc\n")
    known: dict[str, Any] = {"user": "admin", "password": Secret(file=str(tmp_path / "password")), "timeout": 5.0}
    return RedfishSettings(address=url, **known | more)


class Bmc:
    """What a BMC of our own answers: power states one after the other, and its system page as the test wants it."""

    def __init__(self, peer: Any, tmp_path: Path) -> None:
        self.peer = peer
        self.tmp_path = tmp_path
        self.states = ["On"]
        self.system: dict[str, Any] = {
            "Actions": {
                "#ComputerSystem.Reset": {"target": RESET, "ResetType@Redfish.AllowableValues": ["On", "PowerCycle"]}
            }
        }
        self.pages: dict[str, Any] = {"/redfish/v1/Systems": {"Members": [{"@odata.id": SYSTEM}]}}
        self.reset_status = 204
        peer.answer = self.answer

    def answer(self, request: Any) -> tuple[int, dict[str, str], bytes]:
        if request.method == "POST" and request.path.endswith("/Sessions"):
            return (
                201,
                {"X-Auth-Token": "tok", "Location": f"{self.peer.url}/redfish/v1/SessionService/Sessions/9"},
                b"{}",
            )
        if request.headers.get("x-auth-token") != "tok" and "authorization" not in request.headers:
            return 401, {}, b'{"error": {"message": "who are you?"}}'
        if request.method == "DELETE":
            return 204, {}, b""
        if request.method == "POST":
            return self.reset_status, {}, b'{"error": {"message": "not now"}}' if self.reset_status >= 400 else b""
        if request.path == SYSTEM:
            state = self.states.pop(0) if len(self.states) > 1 else self.states[0]
            return 200, {}, json.dumps({**self.system, "PowerState": state}).encode()
        page = self.pages.get(request.path)
        return (200, {}, json.dumps(page).encode()) if page is not None else (404, {}, b"")

    def restart(self, dry_run: bool = False, action: Action = ACTION, **more: Any) -> ActionOutcome:
        one = Redfish(settings(self.peer.url, self.tmp_path, **more), sleep=lambda seconds: None)
        return one.perform(action, dry_run)

    @property
    def resets(self) -> list[Any]:
        return [request.json for request in self.peer.seen if request.path == RESET]


@pytest.fixture
def bmc(peer: Any, tmp_path: Path) -> Bmc:
    return Bmc(peer, tmp_path)


def test_logs_in_restarts_by_a_way_that_is_allowed_waits_and_logs_out(bmc: Bmc) -> None:
    bmc.states = ["On", "On", "Off", "PoweringOn", "On"]
    outcome = bmc.restart()
    assert outcome.result is ActionResult.DONE, outcome
    assert bmc.resets == [{"ResetType": "PowerCycle"}]
    assert bmc.states == ["On"], "it waited through all of them"
    assert bmc.peer.seen[0].json == {"UserName": "admin", "Password": "pw-of-the-bmc"}
    assert (bmc.peer.seen[-1].method, bmc.peer.seen[-1].path) == ("DELETE", "/redfish/v1/SessionService/Sessions/9")
    assert "authorization" not in bmc.peer.seen[1].headers


def test_basic_authentication_where_it_is_asked_for(bmc: Bmc) -> None:
    assert bmc.restart(session=False).result is ActionResult.DONE
    assert not any("Sessions" in request.path for request in bmc.peer.seen)


def test_a_dry_run_only_reads(bmc: Bmc) -> None:
    outcome = bmc.restart(dry_run=True)
    assert outcome.dry_run and f"would post PowerCycle to {RESET}" in outcome.message
    assert bmc.resets == []


def test_a_node_that_is_off_is_switched_on(bmc: Bmc) -> None:
    bmc.states = ["Off", "Off", "On"]
    assert bmc.restart().result is ActionResult.DONE
    assert bmc.resets == [{"ResetType": "On"}]


def test_what_is_allowed_may_stand_on_a_page_of_its_own(bmc: Bmc) -> None:
    info = f"{SYSTEM}/ResetActionInfo"
    bmc.system["Actions"]["#ComputerSystem.Reset"] = {"target": RESET, "@Redfish.ActionInfo": info}
    bmc.pages[info] = {"Parameters": [{"Name": "ResetType", "AllowableValues": ["GracefulRestart"]}]}
    assert bmc.restart().result is ActionResult.DONE
    assert bmc.resets == [{"ResetType": "GracefulRestart"}]


def test_nothing_that_is_not_allowed_is_tried(bmc: Bmc) -> None:
    outcome = bmc.restart(reset_types=("ForceRestart",))
    assert outcome.result is ActionResult.REFUSED and "On, PowerCycle" in outcome.message
    assert bmc.resets == []


def test_a_restart_since_it_was_asked_for_is_not_done_twice(bmc: Bmc) -> None:
    bmc.system["LastResetTime"] = "2023-11-14T23:13:21+01:00"  # a second after the action
    assert bmc.restart().result is ActionResult.NOTHING_TO_DO
    assert bmc.resets == []
    bmc.system["LastResetTime"] = "2023-11-14T22:13:10Z"  # ten seconds before
    assert bmc.restart().result is ActionResult.DONE


@pytest.mark.parametrize("years", [-50, -1, 1])
def test_a_restart_is_not_done_twice_because_the_clock_of_the_bmc_is_wrong(bmc: Bmc, years: int) -> None:
    shift = timedelta(days=365 * years)
    date = format_datetime(datetime.fromtimestamp(time.time(), UTC) + shift, usegmt=True)
    known = bmc.answer
    bmc.peer.answer = lambda request: _dated(known(request), date)
    one = Redfish(settings(bmc.peer.url, bmc.tmp_path), sleep=lambda seconds: None)
    for seconds, ran in ((1, True), (-10, False)):
        bmc.system["LastResetTime"] = (datetime.fromtimestamp(ACTION.at + seconds, UTC) + shift).isoformat()
        assert one.did_run(ACTION) is ran
    bmc.peer.answer = lambda request: _dated(known(request), "no date")
    assert one.did_run(ACTION) is None, "it is not repeated"


def _dated(answer: Answer | None, date: str) -> Answer | None:
    return (answer[0], {**answer[1], "Date": date}, answer[2]) if answer is not None else None


def test_a_node_that_stays_off_after_its_restart_is_switched_on(bmc: Bmc) -> None:
    bmc.system["LastResetTime"] = "2023-11-14T22:13:21Z"  # a second after the action
    one = Redfish(settings(bmc.peer.url, bmc.tmp_path), sleep=lambda seconds: None)
    assert one.did_run(ACTION) is True
    bmc.states = ["Off"]
    assert one.did_run(ACTION) is False
    bmc.states = ["Off", "On"]
    assert bmc.restart().result is ActionResult.DONE
    assert bmc.resets == [{"ResetType": "On"}]


def test_only_a_reset_that_was_posted_may_have_run(bmc: Bmc) -> None:
    known = bmc.answer
    for silent in ("/redfish/v1/SessionService/Sessions", "/redfish/v1/Systems", SYSTEM, RESET):
        bmc.peer.answer = lambda request, silent=silent: None if request.path == silent else known(request)
        outcome = bmc.restart()
        assert (outcome.result, outcome.not_begun) == (ActionResult.FAILED, silent != RESET)


def test_power_that_does_not_come_back_is_a_failure_worth_another_try(bmc: Bmc) -> None:
    bmc.states = ["On", "Off"]
    outcome = bmc.restart(settle_seconds=30.0, poll_seconds=3.0)
    assert (outcome.result, outcome.retryable) == (ActionResult.FAILED, True)
    assert "Off" in outcome.message


@pytest.mark.parametrize(("status", "retryable"), [(400, False), (403, False), (503, True)])
def test_a_refusal_of_the_bmc_is_passed_on(bmc: Bmc, status: int, retryable: bool) -> None:
    bmc.reset_status = status
    outcome = bmc.restart()
    assert (outcome.result, outcome.retryable) == (ActionResult.FAILED, retryable)
    assert "not now" in outcome.message and "pw-of-the-bmc" not in outcome.message
    assert bmc.peer.seen[-1].method == "DELETE", "it logs out all the same"


def test_a_page_that_points_elsewhere_gets_no_credentials(bmc: Bmc) -> None:
    bmc.system["Actions"]["#ComputerSystem.Reset"]["target"] = "//evil.example/reset"
    assert bmc.restart().result is ActionResult.FAILED
    assert bmc.resets == []


def test_of_several_systems_the_one_that_is_meant_must_be_named(bmc: Bmc) -> None:
    bmc.pages["/redfish/v1/Systems"] = {
        "Members": [{"@odata.id": SYSTEM}, {"@odata.id": f"{SYSTEM[:-1]}HGX_Baseboard_0"}]
    }
    assert "name one of them" in bmc.restart().message
    assert bmc.restart(system="1").result is ActionResult.DONE


@pytest.mark.parametrize("body", [b"", b"[]", b"not json", b"[" * 50_000, b'{"Members": [3, {"@odata.id": 4}]}'])
def test_strange_pages_are_reported_not_raised(bmc: Bmc, body: bytes) -> None:
    known = bmc.answer
    bmc.peer.answer = lambda request: (200, {}, body) if request.path == "/redfish/v1/Systems" else known(request)
    assert bmc.restart().result is ActionResult.FAILED


def test_other_verbs_strange_nodes_and_wrong_addresses_are_refused(bmc: Bmc) -> None:
    assert bmc.restart(action=Action(node="n1", verb=Verb.DRAIN, reason="")).result is ActionResult.REFUSED
    assert bmc.restart(action=Action(node="a/b", verb=Verb.REBOOT, reason="")).result is ActionResult.REFUSED
    for address in ("{host}", "ftp://{node}"):
        with pytest.raises(ValueError, match=r"redfish\.address"):
            settings(address, bmc.tmp_path)


# ---------------------------------------------------------------- sushy-tools

UUID = "27946b59-9e44-4fa7-8e91-f3527a1ef094"


@pytest.fixture(scope="module")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    binary = Path(sys.executable).parent / "sushy-emulator"
    if not binary.exists() and shutil.which("sushy-emulator") is None:
        pytest.skip("no sushy-tools here (pip install sushy-tools)")
    bcrypt = pytest.importorskip("bcrypt")
    root = tmp_path_factory.mktemp("sushy")
    port = free_port()
    (root / "htpasswd").write_bytes(b"admin:" + bcrypt.hashpw(b"pw-of-the-bmc", bcrypt.gensalt(4)) + b"\n")
    system = {"uuid": UUID, "name": "n1", "power_state": "On", "nics": []}
    (root / "conf").write_text(
        f"SUSHY_EMULATOR_LISTEN_IP = '127.0.0.1'\nSUSHY_EMULATOR_LISTEN_PORT = {port}\n"
        f"SUSHY_EMULATOR_AUTH_FILE = {str(root / 'htpasswd')!r}\nSUSHY_EMULATOR_STATE_DIR = {str(root)!r}\n"
        f"SUSHY_EMULATOR_FAKE_SYSTEMS = [{system!r}]\n"
    )
    command = [str(binary) if binary.exists() else "sushy-emulator", "--config", str(root / "conf"), "--fake"]
    with (root / "log").open("wb") as log:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env={**os.environ, "TMPDIR": str(root)}
        )
    url = f"http://127.0.0.1:{port}"
    try:
        until(lambda: answers(f"{url}/redfish/v1/"), (root / "log").read_text)
        yield url
    finally:
        process.terminate()
        process.wait(60)


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as reply:
            return bool(reply.status == 200)
    except OSError:
        return False


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["ForceRestart", "GracefulRestart"])
def test_the_emulator_restarts_a_system_and_it_is_on_again(emulator: str, tmp_path: Path, kind: str) -> None:
    more = settings(emulator, tmp_path, session=False, reset_types=(kind,), poll_seconds=0.3, settle_seconds=20.0)
    rehearsal = Redfish(more).perform(ACTION, dry_run=True)
    assert rehearsal.dry_run and f"would post {kind}" in rehearsal.message and "which is On" in rehearsal.message
    outcome = Redfish(more).perform(ACTION, dry_run=False)
    assert outcome.result is ActionResult.DONE, outcome


@pytest.mark.slow
def test_the_emulator_knows_a_wrong_password(emulator: str, tmp_path: Path) -> None:
    outcome = Redfish(settings(emulator, tmp_path, session=False, user="eve")).perform(ACTION, dry_run=False)
    assert (outcome.result, outcome.retryable) == (ActionResult.FAILED, False)
    assert "401" in outcome.message
