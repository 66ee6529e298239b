"""Files without limits, in other units, or with a line that never ends: judged by the catalog, or not known."""

import json
from pathlib import Path

import pytest

from holdfast.formats.amd.values import celsius, number
from holdfast.model.health import Health
from holdfast.model.settings import Settings
from holdfast.node.capture import plain_text, readers
from holdfast.node.capture.check_file import check_file
from holdfast.node.capture.judge import FileVerdict, judge_outputs


def judged(text: str) -> FileVerdict:
    outputs = readers.read(text)
    assert outputs, "not recognised"
    return judge_outputs(outputs, "n1", Settings())


def csv(model: str, heat: int) -> str:
    return f"index, name, temperature.gpu\n0, {model}, {heat}\n1, {model}, 40\n"


@pytest.mark.parametrize(
    ("model", "heat", "health"),
    [
        ("NVIDIA A100-SXM4-80GB", 84, Health.PASS),
        ("NVIDIA A100-SXM4-80GB", 86, Health.DEGRADED),
        ("NVIDIA A100-SXM4-80GB", 89, Health.FAIL),
        ("NVIDIA H100 80GB HBM3", 95, Health.FAIL),
        ("NVIDIA GeForce RTX 9999", 95, Health.UNKNOWN),
        ("NVIDIA GeForce RTX 9999", 45, Health.PASS),
    ],
)
def test_heat_without_limits_is_judged_by_the_model_or_not_at_all(model: str, heat: int, health: Health) -> None:
    found = judged(csv(model, heat))
    assert found.health is health
    if health is Health.UNKNOWN:
        assert "nothing says at which temperature" in found.verdicts["gpu.temperature"].summary()


ROCM = """\
============================ ROCm System Management Interface ============================
====================================== Concise Info ======================================
Device  Node  IDs              Temp        Power     Partitions          SCLK    MCLK     Fan  Perf  PwrCap  VRAM%  GPU%
              (DID,     GUID)  (Junction)  (Socket)  (Mem, Compute, ID)
==========================================================================================
0       2     0x74a1,   28851  44.0C       140.0W    NPS1, SPX, 0        132Mhz  900Mhz   0%   auto  750.0W  0%     0%
1       3     0x74a1,   51499  {heat}C       137.0W    NPS1, SPX, 0        131Mhz  900Mhz   0%   auto  750.0W  0%     0%
"""


@pytest.mark.parametrize(("heat", "health"), [("45.0", Health.PASS), ("113.0", Health.FAIL)])
def test_the_table_of_rocm_smi_names_its_models_by_their_device(heat: str, health: Health) -> None:
    assert judged(ROCM.format(heat=heat)).health is health


NONE = "No bad pages found."


@pytest.mark.parametrize(
    ("retired", "pending", "unres", "health"),
    [(0, 0, 0, Health.PASS), (3, 0, 0, Health.PASS), (0, 1, 0, Health.DEGRADED), (0, 0, 2, Health.FAIL)],
)
def test_bad_pages_of_amd_smi(retired: int, pending: int, unres: int, health: Health) -> None:
    def listed(count: int) -> object:
        return [{"page_address": hex(n), "page_size": 4096, "status": "X"} for n in range(count)] or NONE

    def written(name: str, count: int) -> str:
        page = "        PAGE_ADDRESS: 0x1000\n        PAGE_SIZE: 4096\n        STATUS: X\n"
        return f"    {name}:\n{page * count}" if count else f"    {name}: {NONE}\n"

    text = "GPU: 0\n" + written("RETIRED", retired) + written("PENDING", pending) + written("UN_RES", unres)
    document = [{"gpu": 0, "retired": listed(retired), "pending": listed(pending), "un_res": listed(unres)}]
    assert judged(text).health is health
    assert judged(json.dumps(document)).health is health


@pytest.mark.parametrize(
    "line",
    [
        "Error: Unable to connect to host engine. Host engine connection invalid/disconnected.",
        "Error: unable to establish a connection to the specified host: localhost",
    ],
)
def test_dcgmi_without_its_host_engine_is_unknown_with_the_reason(line: str) -> None:
    found = judged(line + "\n")
    assert found.health is Health.UNKNOWN
    assert line.removeprefix("Error: ") in found.verdicts["file.report"].summary()


def metric(width: int = 16, speed: float = 32, deferred: int = 0, model: str = "AMD Instinct MI300X") -> str:
    card = {
        "gpu": 0,
        "asic": {"market_name": model},
        "pcie": {"width": width, "speed": {"value": speed, "unit": "GT/s"}},
        "ecc": {"total_correctable_count": 0, "total_uncorrectable_count": 0, "total_deferred_count": deferred},
        "temperature": {"hotspot": {"value": 45, "unit": "C"}},
    }
    return json.dumps([card])


@pytest.mark.parametrize(
    ("text", "health", "words"),
    [
        (metric(), Health.PASS, "nothing wrong"),
        (metric(width=8), Health.DEGRADED, "8 of 16 lanes"),
        (metric(speed=16), Health.DEGRADED, "generation 4 of 5"),
        (metric(deferred=3), Health.DEGRADED, "3 deferred ECC errors"),
        (metric(width=8, model="Radeon of a desktop"), Health.PASS, "nothing wrong"),
    ],
)
def test_a_narrow_link_and_deferred_errors_of_amd_smi_are_reported(text: str, health: Health, words: str) -> None:
    found = judged(text)
    assert found.health is health
    assert words in found.verdicts["file.report"].summary()


def test_a_link_below_the_maximum_that_the_file_names_is_not_known_without_a_model() -> None:
    card = {"gpu": 0, "pcie": {"width": 8}, "bus": {"max_pcie_width": 16}, "temperature": {"hotspot": 45}}
    assert judged(json.dumps([card])).health is Health.UNKNOWN


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("45 C", 45.0),
        ("45", 45.0),
        ("45.5 °C", 45.5),
        ("113 F", 45.0),
        ("318.15 K", 45.0),
        ("45 W", None),
        ("N/A", None),
    ],
)
def test_degrees_are_read_in_their_unit(text: str, value: float | None) -> None:
    assert celsius(text) == (None if value is None else pytest.approx(value))


def test_other_quantities_keep_their_units() -> None:
    assert (number("2 GHz"), number("5 MB"), number("7"), number("x")) == (2e9, 5e6, 7.0, None)


def test_a_file_in_fahrenheit_is_not_hot() -> None:
    heat = {"hotspot": {"value": 113, "unit": "F"}}
    warm = [{"gpu": 0, "asic": {"market_name": "AMD Instinct MI300X"}, "temperature": heat}]
    assert judged(json.dumps(warm)).health is Health.PASS


def test_a_line_without_end_is_cut_and_said_so() -> None:
    line = "[ 1.0] NVRM: Xid (PCI:0000:1b:00): 79, pid=1, name=x, GPU has fallen off the bus. " + "x y:z " * 100_000
    bounded, cut = plain_text.with_bounded_lines(f"short\n{line}\nshort\n")
    assert (cut, max(map(len, bounded.split("\n")))) == (1, plain_text.LONGEST_LINE)
    found = judged(line)
    assert found.verdicts["gpu.xid"].health is Health.FAIL
    assert "not evaluated" in found.verdicts["file.report"].summary()


def test_a_document_on_one_line_stays_whole() -> None:
    document = json.dumps([{"gpu": n, "temperature": {"hotspot": 45}} for n in range(5000)])
    assert len(document) > plain_text.LONGEST_LINE
    bounded, cut = plain_text.with_bounded_lines(document)
    assert (json.loads(bounded), cut) == (json.loads(document), 0)
    assert max(map(len, bounded.splitlines())) <= plain_text.LONGEST_LINE
    assert plain_text.with_bounded_lines("x" * plain_text.LONGEST_LINE) == ("x" * plain_text.LONGEST_LINE, 0)


def test_words_of_a_wrapped_table_stay_apart() -> None:
    table = (
        "+---+---+\n| Diagnostic | Result |\n+===+===+\n|-----  Deployment  ----+-------|\n"
        "| Error | GPU 3 has uncorrectable memory errors and row |\n| | remappings are pending |\n+---+---+\n"
    )
    assert "row remappings" in judged(table).verdicts["file.report"].summary()


IBSTATUS = """\
Infiniband device 'mlx5_{}' port 1 status:
        default gid:     fe80:0000:0000:0000:0000:00ff:fe00:0000
        base lid:        0x0
        sm lid:          0x0
        state:           4: ACTIVE
        phys state:      5: LinkUp
        rate:            100 Gb/sec (4X EDR)
        link_layer:      Ethernet

"""


def test_ibstatus_alone_is_read() -> None:
    assert judged(IBSTATUS.format(0) + IBSTATUS.format(1)).health is Health.PASS


def test_a_reader_that_fails_leaves_the_file_unknown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def fails(text: str) -> None:
        raise ValueError("of its own")

    monkeypatch.setattr(readers, "read", fails)
    (tmp_path / "x.txt").write_text("anything\n")
    found = check_file(str(tmp_path / "x.txt"), Settings())
    assert found.health is Health.UNKNOWN
    assert "of its own" in found.verdicts["file.report"].summary()


@pytest.mark.parametrize("blank", [" ", "\t", "\xa0"])
def test_a_wide_gap_in_a_line_is_narrowed(blank: str) -> None:
    """One line of 100,000 spaces kept `check --from` busy for 39 s: a dozen patterns tried each of them."""
    wide, widest = f"a{blank * 100_000}b", f"a{blank * plain_text.WIDEST_GAP}b"
    assert plain_text.with_bounded_lines(f"{wide}\n{widest}") == (f"{widest}\n{widest}", 0)
