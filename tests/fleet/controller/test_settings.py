"""The controller's configuration: back ends by verb, and refusals that name the place."""

import pytest

from holdfast.fleet.actions.slurm.backend import Slurm
from holdfast.fleet.controller.backends import Backends
from holdfast.fleet.controller.settings import Listening, clear_text, parse
from holdfast.model.lifecycle import Action, Verb
from holdfast.model.settings import SettingsError


def test_by_default_agents_test_and_reset_and_the_rest_is_recorded() -> None:
    backends = Backends(parse("", "c.toml"))
    assert backends.agent_verbs == {Verb.RETEST, Verb.RESET_GPU}
    cordon = Action(node="n1", verb=Verb.CORDON, reason="r")
    assert backends.of(Verb.CORDON).perform(cordon, False).result == "done"


def test_a_reset_that_no_one_can_carry_out_has_failed() -> None:
    backends = Backends(parse("", "c.toml"))
    reboot = Action(node="n1", verb=Verb.REBOOT, reason="r")
    assert backends.of(Verb.REBOOT).perform(reboot, False).result == "failed"


def test_with_slurm_set_up_it_does_what_it_can() -> None:
    backends = Backends(parse("[slurm]\ntimeout = 5.0\n", "c.toml"))
    assert isinstance(backends.of(Verb.DRAIN), Slurm)
    assert backends.of(Verb.TICKET).name == "record"


def test_verbs_can_be_given_to_commands_web_hooks_and_bmcs() -> None:
    text = """
[actions]
reboot = "redfish"
ticket = "webhook.service"
inspect = "command"
[redfish]
user = "root"
password = { file = "/run/secrets/bmc" }
[webhook.service]
url = "https://service.example/new"
verbs = ["ticket"]
[command]
commands = { inspect = ["page", "{node}"] }
"""
    backends = Backends(parse(text, "c.toml"))
    names = {verb: backends.of(verb).name for verb in (Verb.REBOOT, Verb.TICKET, Verb.INSPECT)}
    assert names == {Verb.REBOOT: "redfish", Verb.TICKET: "webhook.service", Verb.INSPECT: "command"}


@pytest.mark.parametrize(
    ("text", "expected_text"),
    [
        ("lissen = 1", "line 1: lissen: unknown key"),
        ('[actions]\ndrain = "slurm"', "line 2: actions.drain: no back end is called 'slurm'"),
        ('[actions]\ndrain = "simulated"', "no back end is called 'simulated'"),
        ("[actions]\nfly = 1", "line 2: actions.fly: unknown key"),
        ("[slurm]\ntimeout = 'x'", "line 2: slurm.timeout: expected a number"),
        ("[redfish]\nuser = 'root'", "redfish.password: is missing"),
        ("[command]\ncommands = { ticket = ['x', '{nod}'] }", "{nod} is not one of"),
        ("listen = 'nowhere'", "line 1: listen: expected HOST:PORT"),
        ("certificate = 'a.pem'", "expected both or neither"),
        (
            "certificate = '/no.pem'\nkey = '/no.key'",
            "/no.pem and /no.key are not a certificate with its key: No such file",
        ),
        ("slurm = 3", "expected a table"),
    ],
)
def test_a_wrong_configuration_is_refused_with_its_place(text: str, expected_text: str) -> None:
    with pytest.raises(SettingsError) as refused:
        parse(text, "c.toml")
    assert expected_text in str(refused.value)


@pytest.mark.parametrize(
    ("host", "certificate", "danger"),
    [
        ("127.0.0.1", "", False),
        ("::1", "", False),
        ("0.0.0.0", "", True),
        ("::", "", True),
        ("192.0.2.7", "", True),
        ("0.0.0.0", "/etc/tls.pem", False),
    ],
)
def test_tokens_that_would_travel_in_clear_text_are_warned_of(host: str, certificate: str, danger: bool) -> None:
    message = clear_text(Listening(listen=f"{host}:9477", certificate=certificate), host)
    assert bool(message) is danger
    assert not danger or ("clear text" in message and f"{host}:9477" in message)
