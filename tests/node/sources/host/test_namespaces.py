"""In real mount namespaces: what the agent's own mounts look like must not be taken for the host's."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

NEW_HOST = ("unshare", "--pid", "--fork", "--mount", "--propagation", "private", "--mount-proc")


def _why_not() -> str:
    if os.geteuid() != 0:
        return "namespaces of one's own need root"
    try:
        tried = subprocess.run([*NEW_HOST, "unshare", "--mount", "true"], capture_output=True, text=True, timeout=30)
    except OSError as error:
        return f"unshare cannot be run: {error.strerror}"
    return tried.stderr.strip()


@pytest.fixture(autouse=True)
def _namespaces() -> None:
    if why := _why_not():
        pytest.skip(why)


READ = """
import json, sys
from holdfast.node.agent.census import Census
from holdfast.node.agent.node import Node, Question
from holdfast.node.checks.host import filesystem as host_filesystem, shared_storage as host_shared_storage
from holdfast.node.sources.host.host import HostSource
from holdfast.node.sources.host.storage import SharedStorageSource
path = sys.argv[1]
node = Node(Census("n1"), [Question(host_filesystem.CHECK), Question(host_shared_storage.CHECK)])
listed = (path,) if path else ()
for source in (HostSource("n1", mounts=("/", *listed)), SharedStorageSource("n1", listed)):
    node.take(source.read(0.0))
node.judge(0.0)
print(json.dumps({check: verdict.as_json() for check, verdict in node.verdicts.items()}))
"""
Verdicts = dict[str, dict[str, object]]


def seen(on_the_host: str, in_the_agent: str, path: str = "") -> Verdicts:
    """The agent's verdicts, after the first process of a new host mounted something and the agent something else."""
    agent = f'{in_the_agent}; exec "$@"'
    host = f"unshare --mount --propagation private sh -ec '{agent}' agent \"$@\"; true"
    host = f"{on_the_host}; {host}" if on_the_host else host
    command = [*NEW_HOST, "sh", "-ec", host, "host", sys.executable, "-B", "-c", READ, path]
    out = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert out.stdout, out.stderr
    found: Verdicts = json.loads(out.stdout)
    return found


def test_a_service_whose_root_is_read_only_finds_the_hosts_root_writable() -> None:
    verdicts = seen("", "mount -o remount,bind,ro /; ! touch /read-only-or-not 2>/dev/null")
    assert verdicts["host.filesystem"]["health"] == "pass", verdicts


def test_a_read_only_root_of_the_host_is_reported_though_the_agent_has_it_writable() -> None:
    verdicts = seen("mount -o remount,bind,ro /", "mount -o remount,bind,rw /")
    rows = verdicts["host.filesystem"]["subjects"]
    assert isinstance(rows, list) and rows[0]["value"] == "read-only", verdicts


def test_what_only_the_host_has_mounted_is_reached_from_a_container(tmp_path: Path) -> None:
    mounted = f"mount -t tmpfs -o size=64k,nr_inodes=64 host {tmp_path}; mkdir {tmp_path}/below"
    verdicts = seen(mounted, f"umount {tmp_path}; ! test -e {tmp_path}/below", str(tmp_path))
    assert verdicts["host.filesystem"]["health"] == "pass", verdicts
    assert verdicts["host.shared_storage"]["health"] == "pass", verdicts


def test_what_the_host_has_lost_is_missed_even_if_a_container_has_it(tmp_path: Path) -> None:
    verdicts = seen("true", f"mount -t tmpfs none {tmp_path}", str(tmp_path))
    assert verdicts["host.filesystem"]["health"] == "fail", verdicts
    assert "not mounted" in str(verdicts["host.filesystem"]["reason"])
