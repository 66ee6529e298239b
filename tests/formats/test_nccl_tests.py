"""Tables and JSON of nccl-tests in their several shapes; what breaks off or never began says so."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.formats.nccl_tests import parse

DEVICES = "#  Rank  0 Group  0 Pid 1 on n1 device  0 [0000:04:00] NVIDIA H100 80GB HBM3\n"
DEVICES += "#  Rank  1 Group  0 Pid 2 on n2 device  0 [0000:04:00] NVIDIA H100 80GB HBM3\n"
NEW = "    1024       256     float     sum      -1    16.43    0.06    0.11      0    15.61    0.07    0.11      0"
OLD = "        1024           256   float     sum    36.07    0.03    0.05    N/A    35.77    0.03    0.05    N/A"
BROADCAST = "        1024           256   float       0    34.87    0.03    0.03  0e+00    34.80    0.03    0.03  0e+00"
GATHER = "  4294967296     134217728   float    17016  252.40  220.85    N/A    16474  260.71  228.12    N/A"
END = "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 12.5\n"


@pytest.mark.parametrize(
    ("line", "size", "microseconds", "bus", "wrong"),
    [
        (NEW, 1024, 16.43, 0.11e9, 0),
        (OLD, 1024, 36.07, 0.05e9, None),
        (BROADCAST, 1024, 34.87, 0.03e9, 0),
        (GATHER, 4 << 30, 17016, 220.85e9, None),
        ("[1,0]<stdout>:" + NEW, 1024, 16.43, 0.11e9, 0),
        ("0: " + NEW, 1024, 16.43, 0.11e9, 0),
        ("node-1: " + NEW, 1024, 16.43, 0.11e9, 0),
        (NEW[: NEW.rindex("15.61")], 1024, 16.43, 0.11e9, 0),
    ],
)
def test_a_row_is_read_in_every_shape(line, size, microseconds, bus, wrong):
    (row,) = parse(line).rows
    assert (row.bytes, row.busbw_bytes_per_second, row.wrong) == (size, pytest.approx(bus), wrong)
    assert row.seconds == pytest.approx(microseconds * 1e-6)


def test_wrong_elements_of_either_half_count():
    assert parse(NEW[:-1] + "3").rows[0].wrong == 3


def test_who_took_part_over_what():
    text = DEVICES + "n1:1:1 [0] NCCL INFO Using network Socket\n" + NEW + "\n" + END
    found = parse(text)
    assert (found.ranks, found.hosts, found.model) == (2, ("n1", "n2"), "NVIDIA H100 80GB HBM3")
    assert (found.network, found.average_busbw_bytes_per_second) == ("Socket", 12.5e9)
    assert found.complete and not found.trouble


def test_what_breaks_off_or_never_began_says_so():
    assert parse(NEW).trouble == "the output breaks off after 1024 bytes"
    assert "fewer slots" in parse("There are not enough slots available in the system to satisfy the 16\n").trouble
    assert parse("n1: Test NCCL failure common.cu:958 'unhandled system error'").trouble.startswith("Test NCCL failure")
    assert parse("").trouble == "no row of a result table was found"


def test_the_json_file_is_read_with_its_percentiles():
    body = {"time": 16.43, "alg_bw": 0.06, "bus_bw": 0.11, "nwrong": 0}
    row = {"size": 1024, "out_of_place": body, "in_place": body, "out_of_place_per_iter": {"p95_us": 30.0}}
    devices = [{"rank": 0, "hostname": "n1", "device_info": "NVIDIA H100 80GB HBM3"}]
    document = {"results": [row], "config": {"devices": devices}, "average_bus_bandwidth": {"bandwidth": 12.5}}
    found = parse(json.dumps({**document, "end_time": "now"}))
    assert found.rows[0].p95_seconds == pytest.approx(30e-6)
    assert (found.hosts, found.complete, found.trouble) == (("n1",), True, "")
    assert not parse(json.dumps(document)).complete
    assert "cannot be read" in parse(json.dumps(document)[:-9]).trouble


@given(st.text() | st.lists(st.sampled_from([NEW, OLD, GATHER, DEVICES, END, "{", "1 2 f . . . ."])).map("\n".join))
def test_no_text_is_too_strange(text):
    parse(text)


SCRAPS = st.none() | st.booleans() | st.integers() | st.floats() | st.text()


@given(st.recursive(SCRAPS, lambda x: st.lists(x) | st.dictionaries(st.sampled_from(["size", "time", "config"]), x)))
def test_no_json_is_too_strange(content):
    parse(json.dumps({"results": [content], "config": content, "average_bus_bandwidth": content, "errors": content}))
    parse(json.dumps({"results": content}))
