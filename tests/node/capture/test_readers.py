"""Every kind of file is recognised as what it is, and judged: one case with the fault and one without."""

import gzip
import io
import os
import tarfile
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.model.refusal import Refusal
from holdfast.model.settings import Settings
from holdfast.node.capture import readers
from holdfast.node.capture.check_file import UNRECOGNISED, check_file
from tests.counts import draws
from tests.node.capture import outputs as o
from tests.node.capture.test_more_readers import CASES as MORE

HEALTHY_SMI = o.smi_text(parity="0").replace("SEC-DED    : 1", "SEC-DED    : 0")
CASES = {
    "smi text": (HEALTHY_SMI, "nvidia-smi -q", "pass", ""),
    "smi text, row pending": (
        o.smi_text(parity="0", pending="Yes").replace(": 1\n", ": 0\n"),
        "nvidia-smi -q",
        "degraded",
        "gpu 0",
    ),
    "smi text, sram": (o.smi_text(), "nvidia-smi -q", "fail", "gpu 0"),
    "smi text, ERR!": (HEALTHY_SMI.replace(": 35 C", ": ERR!"), "nvidia-smi -q", "fail", "gpu 1"),
    "smi xml": (o.SMI_XML, "nvidia-smi -q -x", "degraded", "gpu 0"),
    "smi csv, unknown error": (o.SMI_CSV, "nvidia-smi --query-gpu", "fail", "gpu 1"),
    "smi csv": (o.SMI_CSV.replace("[Unknown Error]", "40"), "nvidia-smi --query-gpu", "pass", ""),
    "smi csv nounits": (o.SMI_CSV_NOUNITS, "nvidia-smi --query-gpu", "pass", ""),
    "smi table": (o.SMI_TABLE, "nvidia-smi", "fail", "gpu 1"),
    "smi nvlink": (o.NVLINK, "nvidia-smi nvlink", "fail", "gpu 0"),
    "no driver": (o.NO_DRIVER, "nvidia-smi", "fail", "captured"),
    "dmesg": (o.DMESG, "kernel log", "fail", "0000:1b:00"),
    "dmesg, quiet": (o.DMESG.splitlines()[0] + "\n", "kernel log", "pass", ""),
    "ibstat": (o.IBSTAT.format(state="Active", physical="LinkUp", rate=400), "ibstat", "pass", ""),
    "ibstat, down": (o.IBSTAT.format(state="Down", physical="Polling", rate=10), "ibstat", "fail", "mlx5_1"),
    "ibstat, no subnet manager": (
        o.IBSTAT.format(state="Initializing", physical="LinkUp", rate=400),
        "ibstat",
        "fail",
        "mlx5_1",
    ),
    "ibstat, slow": (o.IBSTAT.format(state="Active", physical="LinkUp", rate=100), "ibstat", "fail", "100 Gb/s"),
    "iblinkinfo": (o.IBLINKINFO, "iblinkinfo", "fail", "n04"),
    "ibdiagnet": (o.IBDIAGNET, "ibdiagnet", "fail", "BER over the threshold"),
    "ibswinfo": (o.IBSWINFO.format(psu="OK", fan=7000), "ibswinfo", "pass", ""),
    "ibswinfo, psu": (o.IBSWINFO.format(psu="ERROR", fan=7000), "ibswinfo", "fail", "PSU1"),
    "ibswinfo, fan": (o.IBSWINFO.format(psu="OK", fan=0), "ibswinfo", "fail", "fan#1"),
    "ethtool": (o.ETHTOOL.format(discards=10, crc=0, downs=1), "ethtool -S", "pass", ""),
    "ethtool, crc": (o.ETHTOOL.format(discards=0, crc=5000, downs=0), "ethtool -S", "fail", "rx_crc_errors_phy"),
    "ethtool, few crc": (o.ETHTOOL.format(discards=0, crc=5, downs=0), "ethtool -S", "degraded", "rx_crc_errors_phy"),
    "ethtool, discards": (
        o.ETHTOOL.format(discards=20_000, crc=0, downs=0),
        "ethtool -S",
        "degraded",
        "rx_out_of_buffer",
    ),
    "ethtool, flaps": (o.ETHTOOL.format(discards=0, crc=0, downs=3), "ethtool -S", "degraded", "3 times"),
    "dcgmi nvlink": (o.DCGMI_NVLINK, "dcgmi nvlink -s", "fail", "gpu 1"),
    "dcgmi nvlink, up": (o.DCGMI_NVLINK.replace("U D U X", "U U U U"), "dcgmi nvlink -s", "pass", ""),
    "dcgmi health": (o.DCGMI_HEALTH, "dcgmi health -c", "fail", "link 3 is currently down"),
    "amd-smi": (o.AMD_METRIC.format(errors=0), "amd-smi", "pass", ""),
    "amd-smi, ecc": (o.AMD_METRIC.format(errors=3), "amd-smi", "fail", "3 uncorrectable"),
    "rocm-smi": (o.ROCM_SMI, "rocm-smi", "pass", ""),
    "exporter": (o.EXPORTER.format(xid=0), "dcgm-exporter", "pass", ""),
    "exporter, xid": (o.EXPORTER.format(xid=79), "dcgm-exporter", "fail", "Xid is 79"),
    "exporter, application": (o.EXPORTER.format(xid=43), "dcgm-exporter", "pass", ""),
    "sinfo without a header": (o.SINFO_HEADERLESS, "Slurm nodes", "fail", "c2"),
    "sinfo -l": (o.SINFO_LONG, "Slurm nodes", "fail", "gpu02"),
    "sinfo -R": (o.SINFO_REASONS, "Slurm nodes", "degraded", "bad gpu"),
    "nvlink errors": (o.NVLINK_ERRORS, "nvidia-smi nvlink", "degraded", "1200"),
    "rocm-smi table": (o.ROCM_TABLE, "rocm-smi", "pass", ""),
    "scontrol": (o.SCONTROL, "Slurm nodes", "fail", "GPU fell off the bus"),
    "slurm json": (o.SLURM_JSON, "Slurm nodes", "degraded", "bad cable"),
}


def judged(tmp_path, text, name="file.txt"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return check_file(str(path), Settings())


@pytest.mark.parametrize("case", CASES)
def test_a_file_is_recognised_and_judged(tmp_path, case):
    text, tool, health, named = CASES[case]
    found = judged(tmp_path, text)
    assert found.tools == [tool]
    bad = [f"{v.summary()} {v.evidence}" for v in found.verdicts.values() if v.state in ("fail", "degraded")]
    assert (found.health.value, named in " ".join(bad)) == (health, True), bad


@pytest.mark.parametrize("packed", ["gzip", "tar", "utf-16", "folder"])
def test_packing_does_not_matter(tmp_path, packed):
    if packed == "gzip":
        found = judged(tmp_path, gzip.compress(o.smi_text().encode()), "nvidia-bug-report.log.gz")
    elif packed == "utf-16":
        found = judged(tmp_path, o.smi_text().encode("utf-16"))
    elif packed == "tar":
        with tarfile.open(tmp_path / "x.tar.gz", "w:gz") as archive:
            member = tarfile.TarInfo("host/smi.txt")
            member.size = len(o.smi_text())
            archive.addfile(member, io.BytesIO(o.smi_text().encode()))
        found = check_file(str(tmp_path / "x.tar.gz"), Settings())
    else:
        (tmp_path / "smi.txt").write_text(o.smi_text())
        (tmp_path / "readme.md").write_text("nothing that is known")
        found = check_file(str(tmp_path), Settings())
    assert (found.tools, found.health.value) == (["nvidia-smi -q"], "fail")


def test_a_pipe_is_read_as_a_file_is(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=lambda: path.write_text(o.smi_text()))
    writer.start()
    found = check_file(str(path), Settings())
    writer.join()
    assert (found.tools, found.health.value) == (["nvidia-smi -q"], "fail")


def test_a_bug_report_holds_several_outputs_and_the_worst_counts(tmp_path):
    report = "\n____\n*** nvidia-smi --query\n" + HEALTHY_SMI + "\n____\n*** dmesg\n" + o.DMESG
    found = judged(tmp_path, report)
    assert set(found.tools) == {"nvidia-smi -q", "kernel log"}
    assert found.verdicts["gpu.xid"].rows[0].subject == "node/captured/gpu/0", "the address is that GPU's"
    assert found.health.value == "fail"


@pytest.mark.parametrize("text", ["", "hello\nworld\n", "a,b\n1,2\n", "{}", "[]", '{"a": [1]}', "\x00\x01\x02" * 50])
def test_what_no_reader_knows_is_refused_in_one_sentence(tmp_path, text):
    with pytest.raises(Refusal, match="not recognised") as refused:
        judged(tmp_path, text)
    assert refused.value.exit_code == UNRECOGNISED != 0
    assert "\n" not in str(refused.value)


def test_a_file_that_is_not_there_or_is_broken_is_refused(tmp_path):
    with pytest.raises(Refusal, match="no such file"):
        check_file(str(tmp_path / "missing"), Settings())
    with pytest.raises(Refusal, match="cannot be read"):
        judged(tmp_path, b"\x1f\x8b\x08broken")


def test_what_a_gpu_does_not_support_is_no_fault_and_what_it_cannot_answer_is(tmp_path):
    absent = judged(tmp_path, HEALTHY_SMI.replace(": 33 C", ": N/A"))
    assert absent.health.value == "pass"
    sick = judged(tmp_path, HEALTHY_SMI.replace(": 33 C", ": Unknown Error"))
    assert sick.health.value == "fail"


def values(text):
    return {(place, name): value for one in readers.read(text) for place, name, value in one.signals}


def test_units_are_those_of_the_signals():
    found = values(HEALTHY_SMI)
    assert found["gpu/0", "gpu_power_watts"] == 71.2
    assert found["gpu/0", "gpu_memory_total_bytes"] == 81559 * 2**20
    assert found["gpu/0", "gpu_clock_sm_hertz"] == 345e6
    assert found["gpu/0", "gpu_clock_event_reasons"] == 4.0
    assert found["gpu/0", "gpu_pci_address"] == "0000:1b:00.0"
    assert (found["", "driver_version"], found["gpu/0", "gpu_pcie_width_lanes"]) == ("570.86.15", 16.0)
    assert values(o.smi_text())["gpu/0", "gpu_ecc_volatile_uncorrected_sram_total"] == 3.0, "parity and SEC-DED"


def test_of_a_csv_without_units_the_tool_s_own_count_and_the_last_reading():
    found = values(o.SMI_CSV_NOUNITS)
    assert found["gpu/0", "gpu_memory_total_bytes"] == 81559 * 2**20
    assert (found["gpu/0", "gpu_temperature_celsius"], found["gpu/0", "gpu_utilization_ratio"]) == (41.0, 0.98)


@settings(max_examples=draws(40, 200), deadline=None)
@given(st.one_of(st.text(max_size=400), st.binary(max_size=400).map(lambda raw: raw.decode("latin-1"))))
def test_no_text_breaks_a_reader(text):
    readers.read(text)


@settings(max_examples=draws(40, 150), deadline=None)
@given(st.sampled_from(sorted({**CASES, **MORE})), st.data())
def test_nor_does_a_file_that_is_cut_off_or_has_a_hole(case, data):
    text = {**CASES, **MORE}[case][0]
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    readers.read(text[:start] + data.draw(st.text(max_size=5)) + text[end:])


def test_every_format_has_a_case_here():
    covered = {tool for _, tool, _, _ in (*CASES.values(), *MORE.values())}
    names = {one.name for one in readers.FORMATS}
    untested = {name for name in names if not any(tool.startswith(name) for tool in covered)}
    elsewhere = {
        "nvidia-smi failure",
        "lspci",
        "dcgmi diag",
        "dcgmi failure",  # test_limits_and_units.py
        "ibqueryerrors",
        "perfquery",
        "ibnetdiscover",
        "ibportstate",  # test_node_lists.py
        "NVOS and NMX",  # test_switch_and_excerpts.py
        "kubectl nodes",
        "ras-mc-ctl",
        "Slurm jobs",
        "amd-smi alone",  # test_pasted_excerpts.py
        "ibdiagnet2.pm",
        "unhealthy ports",
        "lspci excerpt",
        "AER counters",  # test_sysfs_and_slurm_texts.py
        "files of /sys",
        "gpu-burn",
        "other benchmarks",
        "Slurm log",
        "other Slurm output",
    }
    assert untested <= elsewhere
