"""The controller's configuration: listener, store, and back end per verb."""

import ipaddress
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TypeVar

from holdfast.config.tables import Document
from holdfast.fleet.actions.command import CommandSettings
from holdfast.fleet.actions.kubernetes.access import KubernetesSettings
from holdfast.fleet.actions.redfish.backend import RedfishSettings
from holdfast.fleet.actions.slurm.backend import SlurmSettings
from holdfast.fleet.actions.webhook import WebhookSettings
from holdfast.fleet.api.oidc import OidcSettings
from holdfast.fleet.controller.seams.settings import SeamSettings
from holdfast.fleet.facility.promql_range import HistorySettings
from holdfast.fleet.notifications.alertmanager import AlertHook, AlertSettings
from holdfast.fleet.notifications.settings import NotificationSettings
from holdfast.fleet.notifications.settings import parse as parse_notifications
from holdfast.model.lifecycle import Verb
from holdfast.model.settings import SettingsError

AGENT, RECORD, SIMULATED, REDFISH, COMMAND = "agent", "record", "simulated", "redfish", "command"
SLURM, KUBERNETES = "slurm", "kubernetes"
DEFAULT_STORE = "sqlite:////var/lib/holdfast/holdfast.db"
T = TypeVar("T")
_DEFAULT_ACTIONS = {Verb.RETEST: AGENT, Verb.RESET_GPU: AGENT}


@dataclass(frozen=True, slots=True, kw_only=True)
class Listening:
    store: str = DEFAULT_STORE
    listen: str = "127.0.0.1:9477"
    address: str = ""
    """What agents and other controllers reach this one by; '' is http(s):// and `listen`."""
    certificate: str = ""
    """PEM file of the certificate. With `key`, the controller uses TLS."""
    key: str = ""
    admin_token_file: str = ""
    """If named and not there, an admin token is made at start and written into it, for its owner's eyes only."""
    policy: str = ""
    """The policy file; '' is the defaults, which carry nothing out."""
    demo: bool = False
    """Simulated nodes are taken, and reading needs no token."""
    time_factor: float = 1.0
    """How much faster than the clock the demo's nodes live."""
    console: str = ""
    """Directory of the console's files; '' is the one that came with us."""
    observe_seconds: float = 3.0
    """How often the scheduler is read."""
    retain_days: float = 90.0
    """How long events and other history are kept."""
    longest_stop_days: float = 30.0
    """How long the controller may have been stopped. A clock that is further ahead of the newest report is refused."""
    connections_per_address: int = 0
    """How many connections one address may hold; 0 is half of what this process may open."""
    new_nodes_per_hour: int = 500
    """How many names that were never seen may enrol within an hour; 0 is without limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Controlling:
    base: Listening = Listening()
    actions: Mapping[Verb, str] = field(default_factory=lambda: dict(_DEFAULT_ACTIONS))
    slurm: SlurmSettings | None = None
    kubernetes: KubernetesSettings | None = None
    redfish: RedfishSettings | None = None
    command: CommandSettings | None = None
    webhooks: Mapping[str, WebhookSettings] = field(default_factory=dict)
    seams: SeamSettings | None = None
    """None: only what nodes say of themselves is judged."""
    notifications: NotificationSettings = field(default_factory=NotificationSettings)
    oidc: OidcSettings | None = None
    """None: people sign in with tokens alone."""
    alerts: AlertSettings = field(default_factory=AlertSettings)
    history: HistorySettings | None = None
    """None: the page's charts show what the controller holds in memory."""


def clear_text(base: Listening, host: str) -> str:
    """Why tokens would travel unencrypted on this address; '' if they do not."""
    if base.certificate or ipaddress.ip_address(host).is_loopback:
        return ""
    ways = "set certificate and key, or listen on 127.0.0.1 behind a proxy that speaks TLS"
    return f"tokens travel in clear text to {base.listen}: anyone who can read the traffic can use them; {ways}"


def load(path: str) -> Controlling:
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: cannot be read: {error}") from None
    return parse(text, path)


def parse(text: str, origin: str) -> Controlling:
    document = Document(text, origin)
    tables = {"actions", SLURM, KUBERNETES, REDFISH, COMMAND, "webhook", "seams", "alerts", "notifications", "oidc"}
    tables |= {"history"}
    base = {key: value for key, value in document.raw.items() if key not in tables}
    hooks = document.only(document.raw.get("webhook", {}), document.raw.get("webhook", {}), "webhook")
    made = Controlling(
        base=document.fill(Listening, base),
        slurm=_table(document, SlurmSettings, SLURM),
        kubernetes=_table(document, KubernetesSettings, KUBERNETES),
        redfish=_table(document, RedfishSettings, REDFISH),
        command=_table(document, CommandSettings, COMMAND),
        webhooks={name: document.fill(WebhookSettings, table, f"webhook.{name}") for name, table in hooks.items()},
        actions={**_DEFAULT_ACTIONS, **_actions(document)},
        seams=_table(document, SeamSettings, "seams"),
        alerts=_alerts(document),
        notifications=parse_notifications(document),
        oidc=_table(document, OidcSettings, "oidc"),
        history=_table(document, HistorySettings, "history"),
    )
    _check(document, made)
    return made


def _table(document: Document, kind: type[T], name: str) -> T | None:
    return document.fill(kind, document.raw[name], name) if name in document.raw else None


def _alerts(document: Document) -> AlertSettings:
    table = document.only(document.raw.get("alerts", {}), {one.name for one in fields(AlertSettings)}, "alerts")
    for number, hook in enumerate(table.get("webhook", ())):
        document.fill(AlertHook, hook, f"alerts.webhook[{number}]")
    return document.fill(AlertSettings, table, "alerts")


def _actions(document: Document) -> dict[Verb, str]:
    table = document.only(document.raw.get("actions", {}), [verb.value for verb in Verb], "actions")
    for key, value in table.items():
        if not isinstance(value, str):
            raise document.refuse("actions", key, f"expected the name of a back end, found {value!r}")
    return {Verb(key): value for key, value in table.items()}


def _refuse_bad_certificate(document: Document, certificate: str, key: str) -> None:
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key)
    except OSError as error:  # an SSLError is one
        why = f"{certificate} and {key} are not a certificate with its key: {error.strerror or error}"
        raise document.refuse("", "certificate", why) from None


def _check(document: Document, made: Controlling) -> None:
    known = {AGENT, RECORD, *(f"webhook.{name}" for name in made.webhooks)}
    known |= {name for name in (SLURM, KUBERNETES, REDFISH, COMMAND) if getattr(made, name) is not None}
    known |= {SIMULATED} if made.base.demo else set()
    for verb, name in made.actions.items():
        if name not in known:
            expected = f"expected one that is set up: {', '.join(sorted(known))}"
            raise document.refuse("actions", verb.value, f"no back end is called {name!r}; {expected}")
    if made.slurm is not None and made.kubernetes is not None:
        raise SettingsError(f"{document.origin}: slurm and kubernetes: expected one scheduler; each has its controller")
    if bool(made.base.certificate) != bool(made.base.key):
        raise SettingsError(f"{document.origin}: certificate and key: expected both or neither")
    if made.base.certificate:
        _refuse_bad_certificate(document, made.base.certificate, made.base.key)
    host, _, port = made.base.listen.rpartition(":")
    if not host or not port.isdigit() or int(port) > 65_535:
        raise document.refuse("", "listen", f"expected HOST:PORT, found {made.base.listen!r}")
