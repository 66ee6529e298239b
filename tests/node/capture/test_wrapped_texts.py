"""Files as people have them: prefixes, several hosts, cut-off ends, and tools that are not known."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.formats import json_document
from holdfast.model.refusal import Refusal
from holdfast.model.settings import Settings
from holdfast.node.capture import plain_text, wrapping
from holdfast.node.capture.check_file import check_file
from holdfast.node.capture.judge import FileVerdict
from tests.counts import draws

XID = "[ 12.5] NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.\n"
CALM = "[ 12.5] usb 1-1: new high-speed USB device number 2\n[ 13.0] eth0: link becomes ready\n"
HOSTS = st.lists(st.from_regex(r"\A(?:gpu-a|n|ip-10-0-1-)[0-9]{1,4}\Z"), min_size=2, max_size=5, unique=True)


def judged(folder: Path, text: str) -> FileVerdict:
    path = folder / "file.txt"
    path.write_text(text)
    return check_file(str(path), Settings())


def failing(verdict: FileVerdict) -> set[str]:
    return {row.subject.split("/")[1] for one in verdict.verdicts.values() for row in one.rows if row.health == "fail"}


@pytest.mark.parametrize(
    "prefix", ["[pod/a-b/c] ", "web-1  | ", "2026-01-02T03:04:05.678Z ", "INFO - INFO - ", "10.0.0.7: ", "12: "]
)
def test_a_prefix_on_every_line_does_not_hide_a_fault(tmp_path: Path, prefix: str) -> None:
    text = "".join(prefix + line for line in (CALM + XID + CALM).splitlines(keepends=True))
    assert judged(tmp_path, text).health == "fail"


@given(hosts=HOSTS, data=st.data())
def test_each_host_of_pdsh_is_judged_by_its_own_lines(hosts: list[str], data: st.DataObject) -> None:
    if len({"".join(c if not c.isdigit() else "#" for c in h).replace("##", "#") for h in hosts}) > 1:
        hosts = [f"n{number}" for number, _ in enumerate(hosts)]
    lines = [f"{host}: {text}" for host in hosts for text in ("one", "two", "three: four")]
    found = plain_text.by_host("\n".join(data.draw(st.permutations(lines))))
    assert set(found) == set(hosts)
    assert all(sorted(text.splitlines()) == ["one", "three: four", "two"] for text in found.values())


@pytest.mark.parametrize(
    "several",
    [
        "".join(f"n{n}: {line}" for n in (1, 2) for line in (CALM + (XID if n == 2 else "")).splitlines(True)),
        f"------\nn1\n------\n{CALM}------\nn2\n------\n{CALM}{XID}",
        f"n1 | CHANGED | rc=0 >>\n{CALM}n2 | CHANGED | rc=0 >>\n{CALM}{XID}",
        f"==> logs/n1.log <==\n{CALM}==> logs/n2.log <==\n{CALM}{XID}",
    ],
    ids=["pdsh", "dshbak", "ansible", "tail"],
)
def test_of_several_hosts_the_sick_one_is_named(tmp_path: Path, several: str) -> None:
    assert failing(judged(tmp_path, several)) == {"n2"}


@pytest.mark.parametrize(
    "text", ["Temp: 1\nFan: 2\nTemp: 3\nFan: 4\n", "kernel: a\nkernel: b\n", "n1: a\nn2: b\nend\n", ""]
)
def test_names_of_fields_are_not_hosts(text: str) -> None:
    assert plain_text.by_host(text) == {}


@given(
    document=st.recursive(st.none() | st.integers() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x))
)
def test_a_document_that_breaks_off_keeps_what_is_whole(document: object) -> None:
    import json

    whole = json.dumps({"first": 1, "rest": document, "last": [2]})
    assert json_document.find(whole) == json.loads(whole) and not json_document.breaks_off(whole)
    for end in range(len('{"first": 1,') + 1, len(whole), draws(5, 1)):
        found = json_document.find(whole[:end])
        assert found is None or found["first"] == 1
    assert json_document.breaks_off(whole[:-2])


def test_json_that_breaks_off_is_not_a_pass(tmp_path: Path) -> None:
    text = '{"result": {"output": {"Operational Info": {"State": "Active", "Physical state": "LinkUp"}, "Sup'
    verdict = judged(tmp_path, text)
    assert verdict.tools == ["mlxlink"] and verdict.health == "unknown"


def test_a_list_of_links_that_breaks_off_says_nothing_about_that_gpu(tmp_path: Path) -> None:
    links = "".join(f"\t Link {n}: 53.125 GB/s\n" for n in range(18))
    text = f"GPU 0: NVIDIA B200 (UUID: GPU-1)\n{links}GPU 1: NVIDIA B200 (UUID: GPU-2)\n\t Link 0: 53.125 GB/s\n"
    assert judged(tmp_path, text).health == "unknown"  # the tool lists links that are down too
    assert judged(tmp_path, text + "...\n").health == "unknown"
    assert judged(tmp_path, text + "\t Link 1: <inactive>\n").health == "fail"  # what is in it counts


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "an empty file"),
        ("0, 00000000:1B:00.0, NVIDIA H100 80GB HBM3, 36, 71.23\n", "without its header"),
        ("n1:1:2 [0] NCCL INFO Bootstrap : Using eth0\n", "holdfast diagnose"),
        ("<!DOCTYPE html><html></html>", "a web page"),
        ("nothing of the kind\n", "holdfast capture"),
    ],
)
def test_what_is_not_recognised_says_what_to_do(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(Refusal, match=says):
        judged(tmp_path, text)


SINFO = "PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST\ngpu*  up  infinite  1  {state} n[07]\n"


@pytest.mark.parametrize("prompt", ["$ ", "# ", "[root@n1 ~]# ", "(env) [a@b ~]$ ", "a@b:~/c$ "])
def test_each_command_of_a_session_is_read(tmp_path: Path, prompt: str) -> None:
    calm = f"{prompt}uptime\n 1 day\n{prompt}sinfo\n{SINFO.format(state='idle')}{prompt}exit\n"
    assert judged(tmp_path, calm).health == "pass"
    assert failing(judged(tmp_path, calm.replace("idle", "down*"))) == {"n07"}


def test_a_list_of_lines_is_read_as_those_lines(tmp_path: Path) -> None:
    text = "".join(f'        "{line}",\n' for line in SINFO.format(state="down").splitlines())
    assert failing(judged(tmp_path, text)) == {"n07"}


def test_an_xid_that_the_exporter_counts_is_judged(tmp_path: Path) -> None:
    line = 'DCGM_EXP_XID_ERRORS_COUNT{{gpu="0",device="nvidia0",modelName="NVIDIA H100",xid="{code}"}} {count}\n'
    assert judged(tmp_path, line.format(code=79, count=1)).health == "fail"
    assert judged(tmp_path, line.format(code=79, count=0)).health == "pass"
    assert judged(tmp_path, line.format(code=43, count=1)).health == "pass"


@pytest.mark.parametrize(
    "text", ['{"a": "\ud800"}\n{"b": 1}\n', '{"a": "first\\nsecond \\ud800"}', '{"log": "x \\ud800\\n"}\n' * 3]
)
def test_half_a_character_in_json_reaches_no_reader(text: str) -> None:
    """JSON may contain half of a surrogate pair; a text that holds one cannot be written as UTF-8."""
    for one in (*wrapping.carried(text), wrapping.spread_out(text)):
        one.encode()
