"""A bundle of a twin gives the verdicts that the live twin gives, whatever is broken; and nothing in it leads back."""

import json
import tarfile
from dataclasses import replace

import pytest

from holdfast.lab import twin
from holdfast.model.refusal import Refusal
from holdfast.model.settings import Settings
from holdfast.node.agent import assemble, once
from holdfast.node.agent.assemble import load_settings
from holdfast.node.agent.once import check_node
from holdfast.node.capture import bundle, collect
from holdfast.node.capture.check_file import check_file
from tests.counts import draws


def states(verdicts):
    return {name: verdict.state for name, verdict in verdicts.items()}


@pytest.fixture(scope="module", autouse=True)
def _no_source_is_late():
    """A node is read twice here, live and for its bundle: a source that misses its deadline once is unknown in one."""

    def patient(settings, stage):
        chosen = assemble.sources(settings, stage)
        for one in chosen:
            one.deadline = 300.0
        return chosen

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(collect, "sources", patient)
        patch.setattr(once, "sources", patient)
        yield


@pytest.fixture
def node(tmp_path):
    return twin.make_node(tmp_path / "node", model="h100", name="secret-host-17")


def captured(made, path):
    settings = load_settings(str(made.directory / "holdfast.toml"))
    done = collect.capture(settings, path, lambda text: None)
    return settings, done


@pytest.fixture(scope="module")
def healthy(tmp_path_factory):
    """(settings, bundle) of a node that is left as it is."""
    directory = tmp_path_factory.mktemp("healthy")
    return captured(twin.make_node(directory / "node", model="h100", name="secret-host-17"), directory / "b.tar.gz")


def test_a_healthy_twin_is_judged_from_its_bundle_as_it_is_live(healthy):
    settings, done = healthy
    live = check_node(settings, "passive")
    found = check_file(str(done.path), Settings())
    assert states(found.verdicts) == states(live.verdicts)
    assert found.health is live.health
    assert done.path.stat().st_mode & 0o777 == 0o600


def test_replay_in_virtual_time_keeps_every_verdict(healthy):
    _, done = healthy
    loaded = bundle.load(done.path)
    at_once = bundle.judge(loaded, Settings())
    later, changes = bundle.replay(loaded, Settings(), draws(300, 900))
    assert states(later.verdicts) == states(at_once.verdicts)
    assert [change for change in changes if change.before] == []


@pytest.mark.parametrize("fault", ["port_down", "nvml_missing", "xid", "hot_gpu"][: draws(2, 4)])
def test_what_is_broken_is_judged_from_the_bundle_as_it_is_live(node, tmp_path, fault):
    twin.inject(node, fault, pause=lambda seconds: None)
    settings, done = captured(node, tmp_path / "b.tar.gz")
    live = check_node(settings, "passive")
    loaded = bundle.load(done.path)
    assert states(bundle.judge(loaded, Settings()).verdicts) == states(live.verdicts)
    replayed, _ = bundle.replay(loaded, Settings(), draws(40, 120))
    assert replayed.health is live.health
    if fault == "xid":
        assert not any("2 times" in row.reason for row in replayed.verdicts["gpu.xid"].rows), "it happened once"


def texts_of(path):
    with tarfile.open(path) as archive:
        return {member.name: archive.extractfile(member).read().decode() for member in archive}


def test_nothing_in_a_bundle_leads_back_to_the_node(node, tmp_path, monkeypatch):
    monkeypatch.setenv("USER", "jane.doe")
    secrets = {
        "host": "secret-host-17",
        "neighbour": "login01.example.org",
        "address": "10.20.30.40",
        "IPv6": "fd00:1234:5678::9abc",
        "MAC": "b8:59:9f:22:62:6e",
        "user": "jane.doe",
        "home": "jdoe42",
        "token": "hf_abcdefghijklmnopqrstuvwxyz",
        "password": "hunter2secret",
        "mail": "jane@example.org",
        "serial": "MT2115X12345",
    }
    lines = [
        f"Nov 17 01:00:00 {secrets['neighbour']} sshd[7]: Accepted for {secrets['user']} from {secrets['address']}",
        f"eth0: {secrets['MAC']} has {secrets['IPv6']}, contact {secrets['mail']}",
        f"python /home/{secrets['home']}/train.py --hf-token={secrets['token']} PASSWORD={secrets['password']}",
        f"board Serial Number: {secrets['serial']} on {secrets['host']}.cluster.local",
    ]
    with open(load_settings(str(node.directory / "holdfast.toml")).roots.kmsg, "a") as log:
        for number, line in enumerate(lines):
            log.write(f"6,{950 + number},{2_000_000 + number},-;{line}\n")
        log.write(f"3,960,3000000,-;NVRM: Xid (PCI:0000:1b:00): 31, name=/home/{secrets['home']}/a.out, MMU Fault\n")
    _, done = captured(node, tmp_path / "b.tar.gz")
    everything = texts_of(done.path)
    found = {(what, name) for what, word in secrets.items() for name, text in everything.items() if word in text}
    assert found == set()
    signals = [one for line in everything["readings.jsonl"].splitlines() for one in json.loads(line)["signals"]]
    serials = {value for _, name, value in signals if name in ("gpu_serial", "gpu_uuid")}
    assert len(serials) == 16, "two pseudonyms a GPU, each its own"
    assert "0000:1b:00" in everything["raw/kernel.log"], "what is needed stays"


def test_a_bundle_of_another_format_or_a_broken_one_is_refused(healthy, tmp_path):
    _, done = healthy
    texts = texts_of(done.path)
    head = json.loads(texts[bundle.HEAD])
    files = {name: text.encode() for name, text in texts.items()}
    bundle.write(tmp_path / "new.tar.gz", {**files, bundle.HEAD: json.dumps({**head, "format": 2}).encode()})
    with pytest.raises(Refusal, match="format 2; this version reads format 1"):
        check_file(str(tmp_path / "new.tar.gz"), Settings())
    bundle.write(tmp_path / "torn.tar.gz", {bundle.HEAD: files[bundle.HEAD]})
    with pytest.raises(Refusal, match="the bundle cannot be read"):
        check_file(str(tmp_path / "torn.tar.gz"), Settings())


def test_a_bundle_is_bounded(node, tmp_path, monkeypatch):
    monkeypatch.setattr(collect, "MOST_OF_ALL", 1000)
    _, done = captured(node, tmp_path / "b.tar.gz")
    assert done.left_out["sys.txt"] == "the bundle is full"
    assert check_file(str(done.path), Settings()).health.value == "pass", "what decides is in it all the same"


def test_limits_of_the_configuration_count_for_a_bundle_too(healthy):
    from holdfast.model.settings import CheckSettings

    _, done = healthy
    off = replace(Settings(), checks={"gpu.power": CheckSettings(enabled=False)})
    assert check_file(str(done.path), off).verdicts["gpu.power"].state == "disabled"
