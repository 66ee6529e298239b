"""What carries a text does not change what it says: prefixes, quotes, JSON strings, HTML, spaces of a web page."""

import html
import json
import random

import pytest

from holdfast.node.capture import readers, wrapping
from holdfast.node.capture.plain_text import LONGEST_LINE, with_bounded_lines

SCONTROL = """\
NodeName=gpu-a1 Arch=x86_64 CoresPerSocket=8
   CPUAlloc=0 CPUTot=16 CPULoad=0.10
   Gres=gpu:h100:8
   State=IDLE+DRAIN ThreadsPerCore=1 Weight=1
   Reason=gres/gpu count reported lower than configured (7 < 8) [slurm@2025-03-01T10:00:00]
"""
REASONS = """\
REASON               USER      TIMESTAMP           NODELIST
Kill task failed     root      2025-03-01T10:00:00 gpu-a[6-7]
Not responding       slurm     2025-03-01T11:00:00 gpu-a9
"""
NVLINK = """\
+----------------------+
|  NvLink Link Status  |
+----------------------+
GPUs:
    gpuId 0:
        U U U U U U U U U U U U U U U U U U
    gpuId 1:
        U U U D U U U U U U U U U U U U U U
NvSwitches:
    No NvSwitches found.

Key: Up=U, Down=D, Disabled=X, Not Supported=_
"""
KERNEL = """\
[ 1843.308145] NVRM: The NVIDIA GPU 0000:b3:00.0
               NVRM: (PCI ID: 10de:26b5) installed in this system has
               NVRM: fallen off the bus and is not responding to commands.
[ 1843.439662] NVRM: The NVIDIA probe routine failed for 1 device(s).
"""
AMD = """\
GPU: 0
    POWER:
        SOCKET_POWER: 20 W
    TEMPERATURE:
        HOTSPOT: 40 °C
    ECC:
        TOTAL_CORRECTABLE_COUNT: 0
        TOTAL_UNCORRECTABLE_COUNT: 3
"""
TEXTS = {"scontrol": SCONTROL, "reasons": REASONS, "nvlink": NVLINK, "kernel": KERNEL, "amd-smi": AMD}


def each_line(form):
    return lambda text: "".join(f"{form.format(line)}\n" for line in text.splitlines())


def quoted(text):
    return "".join(f"{json.dumps(line)}\n" for line in text.splitlines())


def logged(text):
    return "".join(f"{json.dumps({'at': '10:00', 'line': line})}\n" for line in text.splitlines())


CARRIERS = {
    "pdsh of one host": each_line("gpu07: {}"),
    "mpirun": each_line("[1,0]<stdout>:{}"),
    "mpirun with a space": each_line("[1,3]<stderr>: {}"),
    "stern": each_line("gpu-test-x7z2p main {}"),
    "kubectl with timestamps": each_line("2025-05-01T12:00:00.123456789Z {}"),
    "docker compose": each_line("gpu-test-1  | {}"),
    "an unknown collector": each_line("dc3>rack7>gpu07] {}"),
    "cat -n": lambda text: "".join(f"{n:6d}\t{line}\n" for n, line in enumerate(text.splitlines(), 1)),
    "a JSON string": lambda text: json.dumps({"cmd": "x", "rc": 0, "stdout": text, "stderr": ""}),
    "a long JSON string": lambda text: json.dumps({"rc": 0, "pad": "x" * 40_000, "stdout": text}),
    "escaped": lambda text: f"INFO:root:output: {text!r}\n",
    "quotation marks": lambda text: f'"{text.rstrip()}"\n',
    "HTML": lambda text: f"<details><summary>output</summary>\n<pre>\n{html.escape(text)}</pre>\n</details>\n",
    "spaces of a web page": lambda text: text.replace("  ", " \u00a0"),
    "a list of lines in JSON": lambda text: json.dumps({"rc": 0, "stdout_lines": text.splitlines()}, indent=1),
    "a list of lines in YAML": lambda text: "out:\n" + each_line("  - {}")(quoted(text)),
    "a block of YAML": lambda text: "out: |\n" + each_line("  {}")(text),
    "reStructuredText": lambda text: "The output::\n\n" + each_line("   {}")(text),
    "JSON log lines of unknown names": lambda text: each_line("{}")(logged(text)),
    "a field of CSV": lambda text: 'host,out\ngpu07,"{}"\n'.format(text.replace('"', '""')),
    "Jira": lambda text: f"{{noformat}}\n{text}{{noformat}}\n",
    "a fence on the line of the text": lambda text: f"[10:31] here\n```{text}```\nthanks\n",
    "an empty line after each": lambda text: "".join(f"{line}\n\n" for line in text.splitlines() if line.strip()),
    "script": lambda text: f'Script started on 2025-05-01 12:00:00 [TERM="xterm"]\n{text}\nScript done on 2025-05-01\n',
    "ansible, one host": lambda text: f"gpu07 | CHANGED | rc=0 >>\n{text}",
}


def said(text):
    found = readers.read(text)
    return (
        {(event.kind, event.code, event.device) for one in found for event in one.events},
        {(told.place, told.text) for one in found for told in one.complaints if not told.unknown},
        {place for one in found for place in one.present},
    )


@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize("name", TEXTS)
def test_a_carried_text_says_what_it_says_by_itself(name, carrier):
    bare = said(TEXTS[name])
    assert any(bare[:2]), "each of these has a fault"
    assert said(CARRIERS[carrier](TEXTS[name])) == bare


def test_json_log_lines_of_a_collector_hold_kernel_messages():
    lines = [
        json.dumps({"ts": "2025-05-01T12:00:00Z", "stream": "stdout", "log": f"{line}\n"})
        for line in KERNEL.splitlines()
    ]
    assert said("\n".join(lines))[0] == said(KERNEL)[0]


@pytest.mark.parametrize(
    "line",
    [
        "x" * 200_000,
        "{" + "a" * 200_000 + "}",
        "<" + "a" * 200_000 + ">",
        json.dumps({"a": "b" * 200_000}),
        json.dumps(list(range(50_000))),
        "<a>" + "<b>1</b>" * 20_000 + "</a>",
    ],
    ids=["words", "no JSON", "no XML", "a long string", "a list", "XML"],
)
def test_no_line_is_long_after_the_text_was_bounded(line):
    bounded, _ = with_bounded_lines(f"short\n{line}\nshort")
    assert max(map(len, bounded.split("\n"))) <= LONGEST_LINE


def test_a_gap_of_many_empty_lines_is_a_short_one():
    for empty in ("", "  ", "\t", "\r"):
        bounded, cut = with_bounded_lines("a\n" + f"{empty}\n" * 5000 + "b")
        assert (bounded.count("\n"), bounded[0], bounded[-1], cut) == (4, "a", "b", 0)


def test_a_prefix_is_found_for_any_name():
    chance = random.Random(1)
    for _ in range(20):
        name = "".join(chance.choice("abcdefgh0123456789-.") for _ in range(chance.randint(3, 20))) + "9"
        assert wrapping.without_host(each_line(name + ": {}")(SCONTROL)) == SCONTROL


def test_lines_of_the_kernel_keep_their_prefix():
    assert wrapping.without_host("kernel: a\nkernel: b\n") is None
    assert wrapping.without_host("NVRM: a\nNVRM: b\n") is None
    assert wrapping.without_host("node1: a\nnode2: b\n") is None


STEP = "[2025-12-14T09:44:56.002] [63532.0] error: *** STEP 63532.0 STEPD TERMINATED ON cn6 AT 2025-12-14T09:44:56 DUE "
TOLD = {
    "a job that does not end": (f"{STEP}TO JOB NOT ENDING WITH SIGNALS ***\n", "node/cn6", "Kill task failed"),
    "AER bits alone": (
        "\t\tUESta:\tDLP- SDES- TLP- CmpltTO+ UnsupReq-\n\t\tCESta:\tRxErr+ BadTLP- BadDLLP-\n",
        "",
        "uncorrectable PCIe errors since the last reset: CmpltTO",
    ),
    "talosctl dmesg": (
        "10.0.0.9: kern: warning: [2025-04-22T21:27:51.29Z]: NVRM: loading\n"
        "10.0.0.9: kern: err: [2025-04-22T21:27:52.29Z]: NVRM: Xid (PCI:0000:01:00): 79, pid=7, GPU is lost\n",
        "xid",
        "79",
    ),
    "journalctl --no-hostname": (
        "Mar 21 21:42:01 kernel: NVRM: Xid (PCI:0000:01:00): 79, pid=7, GPU is lost\n",
        "xid",
        "79",
    ),
    "the GPU's system processor": (
        "Mar 21 21:42:01 kernel: NVRM: GPU0 _kgspRpcRecvPoll: GSP RM heartbeat timed out\n",
        "uvm",
        "gsp_heartbeat",
    ),
    "a ring in the words of FreeBSD": (
        "Sep 21 01:25:14 n1 kernel: [drm ERROR :amdgpu_job_timedout] ring gfx timeout, signaled seq=95\n",
        "",
        "a queue of the GPU stopped",
    ),
    "one port, disabled": (
        "CA 'mlx5_8'\n\tCA type: MT4125\n\tNumber of ports: 1\n\tPort 1:\n\t\tState: Down\n"
        "\t\tPhysical state: Disabled\n",
        "mlx5_8",
        "port is Down",
    ),
    "a port by its route": (
        "# Port info: Lid 2 DR path slid 65535; dlid 65535; 0,8 port 2\n"
        "LinkState:.......................Down\nPhysLinkState:...................Polling\n",
        "switch/lid0,8/port/2",
        "link is Down/Polling",
    ),
}


@pytest.mark.parametrize("name", TOLD)
def test_what_the_text_tells_is_named(name):
    text, place, words = TOLD[name]
    events, complaints, _ = said(text)
    told = [(kind, str(code)) for kind, code, _ in events] + list(complaints)
    assert any(place in where and words in what for where, what in told), told


def test_the_table_of_the_first_rocm_versions_has_no_utilization():
    text = (
        "====================    ROCm System Management Interface    ====================\n"
        " GPU  Temp    AvgPwr   SCLK     MCLK     Fan      Perf    SCLK OD    MCLK OD\n"
        "  0   35c     73.68W   1411Mhz  300Mhz   0.0%     auto      0%         0%\n"
    )
    (found,) = readers.read(text)
    values = {name: value for _, name, value in found.signals}
    assert values["gpu_temperature_celsius"] == 35.0 and values["gpu_power_watts"] == 73.68
    assert "gpu_utilization_ratio" not in values


def test_a_port_without_counters_is_unknown():
    path = "/sys/devices/pci0000:05/0000:05:02.0/infiniband/i40iw0/ports/1/counters"
    (found,) = readers.read(f"{path}/link_downed:N/A (no PMA)\n{path}/port_rcv_errors:N/A (no PMA)\n")
    assert [one.unknown for one in found.complaints] == [True]
