"""What scripts/fresh-machine reads and judges, without building a machine."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from fresh_machine import clients, commands, machine, root  # noqa: E402


def test_pips_files_and_variables_become_one_file(tmp_path: Path) -> None:
    first, second = tmp_path / "first.conf", tmp_path / "second.conf"
    first.write_text("[global]\nindex-url = https://one.example/simple\ntimeout = 5\n")
    second.write_text("[global]\nindex-url = https://two.example/simple\n[install]\npre = yes\n")
    variables = {"PIP_FIND_LINKS": "/srv/wheels", "PIP_TIMEOUT": "9", "HOME": "/x"}
    output = clients.pip_configuration([str(first), str(second)], variables)
    assert "index-url = https://two.example/simple" in output and "one.example" not in output
    assert "timeout = 9" in output and "find-links = /srv/wheels" in output and "[install]\npre = yes" in output
    assert "home" not in output


def test_variables_alone_make_a_file(tmp_path: Path) -> None:
    assert clients.pip_configuration([str(tmp_path / "none")], {"PIP_NO_INDEX": "1"}) == "[global]\nno-index = 1\n\n"


def test_local_indexes_are_bound_with_their_files_and_the_system_never(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients, "SYSTEM", ("etc", "usr"))  # the test's own folder may lie in /tmp
    index, wheels, bundle = tmp_path / "index" / "simple", tmp_path / "wheels", tmp_path / "bundle.crt"
    index.mkdir(parents=True)
    wheels.mkdir()
    bundle.touch()
    text = f"extra-index-url = file://{index}\nfind-links={wheels}\ncafile={bundle}\nnodedir = /usr\n/etc\n/no/such\n/"
    assert clients.referred(text) == ((index.parent, wheels), (bundle,))


def test_only_the_clients_variables_are_carried() -> None:
    carried = ["https_proxy", "NO_PROXY", "npm_config_registry", "SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"]
    assert [
        name for name in (*carried, "PATH", "HOME", "PYTHONPATH", "MY_HTTPS_PROXY") if clients.CARRIED.fullmatch(name)
    ] == carried


def test_pytests_lines_are_counted_over_all_runs() -> None:
    received = commands.Tests()
    for line in (
        "....s [100%]",
        "SKIPPED [3] tests/fleet/kubernetes/conftest.py:20: no kube-apiserver here",
        "SKIPPED [1] tests/fleet/slurm/test_x.py: no kube-apiserver here",
        "SKIPPED [2] tests/fleet/slurm/test_x.py:1: no slurmd",
        "1200 passed, 4 skipped in 61.20s (0:01:01)",
        "FAILED tests/fleet/store/test_a.py::test_b - assert 1",
        "ERROR tests/fleet/store/test_c.py",
        "1 failed, 20 passed, 2 skipped, 1 error, 3 rerun in 10.00s",
        "make: *** [Makefile:97: test] Error 1",
    ):
        received.feed(line)
    output = received.result()
    assert {name: output[name] for name in ("passed", "failed", "error", "skipped", "rerun")} == {
        "passed": 1220, "failed": 1, "error": 1, "skipped": 6, "rerun": 3,
    }  # fmt: skip
    assert output["skipped_because"] == {"no kube-apiserver here": 4, "no slurmd": 2}
    assert output["failures"] == ["tests/fleet/store/test_a.py::test_b", "tests/fleet/store/test_c.py"]
    assert any("Error 1" in line for line in output["trouble"])


def test_failures_are_named_where_pytest_lists_none() -> None:
    received = commands.Tests()
    for line in (
        "______ test_a_thing[one two] ______",
        "_ _ _ _ _",
        "____ ERROR at setup of test_b ____",
        "1 failed in 2.00s",
    ):
        received.feed(line)
    assert received.result()["failures"] == ["test_a_thing[one two]", "test_b"]


def test_readme_names_the_prerequisites() -> None:
    found = root.PREREQUISITES.search((ROOT / "README.md").read_text())
    assert found is not None and found[1].split() == ["git", "make", "python3", "python3-venv", "ca-certificates"]


def test_a_tree_is_removed_and_a_mount_in_it_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = tmp_path / "tree"
    (tree / "inner").mkdir(parents=True)
    monkeypatch.setattr(machine, "mounts_below", lambda folder: [str(tree / "inner")])  # it cannot be unmounted
    machine.remove(tree)
    assert (tree / "inner").is_dir()
    monkeypatch.undo()
    machine.remove(tree)
    assert not tree.exists()
