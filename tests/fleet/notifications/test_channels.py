"""Every channel's message is accepted by a stand-in that checks the documented format, whatever is in it."""

import json
import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holdfast.fleet.actions.secret import Secret
from holdfast.fleet.inbox.item import Item, ItemKind, Severity
from holdfast.fleet.notifications.channels import Channel, Email, Opsgenie, PagerDuty, Slack, Teams, WebHook
from holdfast.fleet.notifications.message import Notification, NotifiedEvent, of_item
from holdfast.fleet.notifications.outbox import deliver
from tests.counts import draws

from .stand_in import StandIn, serving_in

ITEM = Item(
    key="incident/job/模型@5",
    kind=ItemKind.INCIDENT,
    subject="job/模型",
    title="job/模型: <coolant> & flow is low",
    detail="cdu/c2 flow 240 -> 76 l/min",
    since=1_794_832_975.0,
    severity=Severity.CRITICAL,
    owner="facilities",
    remedy="switch to the standby pump",
    runbook="cooling.flow_low",
    commands=("holdfast incident show cdu/c2",),
    cost_so_far=116.0,
    cost_per_hour=38.7,
    gpus_lost=16.5,
)
NOTE = of_item(ITEM, NotifiedEvent.OPENED, "https://holdfast.example.com")
KINDS = ("slack", "pagerduty", "opsgenie", "teams", "webhook")


@pytest.fixture(scope="module")
def server() -> Iterator[StandIn]:
    with serving_in() as one:
        yield one


@pytest.fixture(scope="module")
def channels(server: StandIn, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Channel]:
    folder: Path = tmp_path_factory.mktemp("secrets")

    def secret(name: str, text: str) -> Secret:
        (folder / name).write_text(text)
        return Secret(file=str(folder / name))

    return {
        "slack": Slack(url=secret("slack", f"{server.url}/services/T0/B0/x")),
        "pagerduty": PagerDuty(routing_key=secret("pd", "R" * 32), url=f"{server.url}/v2/enqueue"),
        "opsgenie": Opsgenie(api_key=secret("og", "secret-key"), url=server.url),
        "teams": Teams(url=secret("teams", f"{server.url}/workflows/1")),
        "webhook": WebHook(url=f"{server.url}/own", bearer=secret("own", "hf_x")),
    }


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("happened", list(NotifiedEvent))
def test_what_is_sent_is_accepted(
    kind: str, happened: NotifiedEvent, server: StandIn, channels: dict[str, Channel]
) -> None:
    assert deliver(channels[kind], replace(NOTE, happened=happened)) == ("", True), server.refused[-1:]


def last(server: StandIn, kind: str) -> Any:
    return next(body for name, _, body in reversed(server.taken) if name == kind)


def test_slack_shows_next_step_price_and_a_button_and_escapes_its_own_characters(
    server: StandIn, channels: dict[str, Channel]
) -> None:
    deliver(channels["slack"], NOTE)
    body = last(server, "slack")
    text = json.dumps(body, ensure_ascii=False)
    assert "switch to the standby pump" in text and "38.7 USD an hour" in text and "16.5 GPUs is lost" in text
    assert "&lt;coolant&gt; &amp; flow" in body["text"] and "<coolant>" not in body["text"]
    assert body["blocks"][-1]["elements"][0]["url"].startswith("https://holdfast.example.com/#/inbox/incident%2Fjob")


def test_pagerduty_triggers_acknowledges_and_resolves_under_one_key(
    server: StandIn, channels: dict[str, Channel]
) -> None:
    before = len(server.taken)
    for happened in (NotifiedEvent.OPENED, NotifiedEvent.ACKNOWLEDGED, NotifiedEvent.RESOLVED):
        deliver(channels["pagerduty"], replace(NOTE, happened=happened))
    bodies = [body for _, _, body in server.taken[before:]]
    assert [one["event_action"] for one in bodies] == ["trigger", "acknowledge", "resolve"]
    assert {one["dedup_key"] for one in bodies} == {ITEM.key}
    assert bodies[0]["payload"]["severity"] == "critical"


def test_a_header_survives_a_name_that_is_not_latin(server: StandIn, channels: dict[str, Channel]) -> None:
    assert deliver(channels["webhook"], NOTE) == ("", True)
    headers, body = last(server, "webhook")
    assert headers["Idempotency-Key"].isascii() and body["key"] == ITEM.key


TEXTS = st.text(max_size=4_000)


@settings(max_examples=draws(6, 25), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(title=TEXTS, text=TEXTS, remedy=TEXTS, key=st.text(min_size=1, max_size=600), owner=TEXTS)
def test_no_text_is_refused_by_a_channel(
    server: StandIn, channels: dict[str, Channel], title: str, text: str, remedy: str, key: str, owner: str
) -> None:
    note = Notification(
        key=key, happened=NotifiedEvent.OPENED, severity=Severity.WARNING, title=title or "t", text=text, since=5.0,
        remedy=remedy, owner=owner, subject=title[:200], commands=(text[:300],),
    )  # fmt: skip
    for kind in KINDS:
        assert deliver(channels[kind], note) == ("", True), (kind, server.refused[-1:])


def test_a_refusal_is_final_and_reported(server: StandIn, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("wrong")
    trouble, final = deliver(
        PagerDuty(routing_key=Secret(file=str(tmp_path / "key")), url=f"{server.url}/v2/enqueue"), NOTE
    )
    assert "answered 400: invalid routing key" in trouble and final


def test_a_channel_that_is_away_is_tried_again(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    trouble, final = deliver(WebHook(url=f"http://127.0.0.1:{port}/"), NOTE)
    assert trouble and not final


@pytest.mark.parametrize("template", ["{", '{"a": "$nonsense"}', '{"a": $title}'])
def test_a_template_that_makes_no_json_is_refused_at_start(template: str) -> None:
    with pytest.raises(ValueError, match="template"):
        WebHook(url="http://127.0.0.1/", template=template)


class Mailbox:
    """The few words of SMTP that a client needs."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.data = b""
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    @property
    def server(self) -> str:
        return f"127.0.0.1:{self.listener.getsockname()[1]}"

    def _serve(self) -> None:
        connection, _ = self.listener.accept()
        with connection, connection.makefile("rwb") as stream:
            stream.write(b"220 here\r\n")
            stream.flush()
            for line in stream:
                word = line[:4].upper()
                if word == b"DATA":
                    stream.write(b"354 go on\r\n")
                    stream.flush()
                    for text in stream:
                        if text == b".\r\n":
                            break
                        self.data += text
                stream.write(b"221 bye\r\n" if word == b"QUIT" else b"250 ok\r\n")
                stream.flush()
                if word == b"QUIT":
                    return


def test_a_mail_has_a_subject_a_thread_and_the_next_step() -> None:
    box = Mailbox()
    channel = Email(server=box.server, sender="holdfast@example.com", to=("ops@example.com",), starttls=False)
    assert deliver(channel, replace(NOTE, title="job/模型\nSubject: no second header")) == ("", True)
    box.thread.join(10)
    import email
    from email import policy

    found = email.message_from_bytes(box.data, policy=policy.default)
    assert found["Subject"] == "[holdfast] job/模型 Subject: no second header"
    assert found["References"] == found["In-Reply-To"]
    body = found.get_body()
    assert body is not None and "Next step: switch to the standby pump" in body.get_content()


def test_a_channel_takes_only_the_items_of_its_teams() -> None:
    channel = WebHook(url="http://127.0.0.1/", owners=("network",), only_critical=True)
    assert not channel.wants(NOTE)
    assert channel.wants(replace(NOTE, owner="network"))
    assert not channel.wants(replace(NOTE, owner="network", severity=Severity.WARNING))
    assert channel.wants(replace(NOTE, happened=NotifiedEvent.TEST))


def _named(name: str) -> Notification:
    return Notification(
        key="k", happened=NotifiedEvent.OPENED, severity=Severity.CRITICAL, title=f"{name} died", text=name, since=1.0,
        remedy=name, commands=(f"holdfast job show {name}",),
    )  # fmt: skip


def test_a_name_is_no_link_in_a_card_and_ends_no_block(channels: dict[str, Channel]) -> None:
    name = "[Sign in again](https://evil.example) ```<!channel>"
    card = channels["teams"].request(_named(name))  # type: ignore[union-attr]
    assert card is not None
    assert b"](" not in card.body
    slack = channels["slack"].request(_named(name))  # type: ignore[union-attr]
    assert slack is not None
    texts = [block["text"]["text"] for block in json.loads(slack.body)["blocks"] if "text" in block]
    (commands,) = [text for text in texts if "holdfast job show" in text]
    assert commands.count("```") == 2
    assert b"<!channel>" not in slack.body.split(b"plain_text")[0]
