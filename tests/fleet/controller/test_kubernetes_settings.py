"""The [kubernetes] table of the controller's configuration."""

import pytest

from holdfast.fleet.actions.kubernetes.backend import Kubernetes
from holdfast.fleet.controller.backends import Backends
from holdfast.fleet.controller.settings import parse
from holdfast.model.lifecycle import Verb
from holdfast.model.settings import SettingsError


def test_with_kubernetes_set_up_it_does_what_it_can() -> None:
    backends = Backends(parse('[kubernetes]\nkubeconfig = "/etc/holdfast/kubeconfig"\n', "c.toml"))
    assert isinstance(backends.of(Verb.DRAIN), Kubernetes)
    assert backends.scheduler is backends.kubernetes
    assert backends.of(Verb.TICKET).name == "record"


@pytest.mark.parametrize(
    ("text", "expected_text"),
    [
        ("[kubernetes]\nkubeconfg = 'x'\n", "c.toml, line 2: kubernetes.kubeconfg: unknown key"),
        ("[kubernetes]\ntimeout = 'x'\n", "c.toml, line 2: kubernetes.timeout"),
        ("[kubernetes]\ngpu_resources = []\n", "kubernetes.gpu_resources: expected at least one name"),
        ("[kubernetes]\n[slurm]\n", "expected one scheduler"),
    ],
)
def test_what_is_wrong_is_reported_with_its_place(text: str, expected_text: str) -> None:
    with pytest.raises(SettingsError) as wrong:
        parse(text, "c.toml")
    assert expected_text in str(wrong.value)
