"""Tables and JSON of nccl-tests in their several shapes; what breaks off or never began says so."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.formats.nccl.tests import parse

DEVICES = "#  Rank  0 Group  0 Pid 1 on n1 device  0 [0000:04:00] NVIDIA H100 80GB HBM3\n"
DEVICES += "#  Rank  1 Group  0 Pid 2 on n2 device  0 [0000:04:00] NVIDIA H100 80GB HBM3\n"
NEW = "    1024       256     float     sum      -1    16.43    0.06    0.11      0    15.61    0.07    0.11      0"
OLD = "        1024           256   float     sum    36.07    0.03    0.05    N/A    35.77    0.03    0.05    N/A"
BROADCAST = "        1024           256   float       0    34.87    0.03    0.03  0e+00    34.80    0.03    0.03  0e+00"
GATHER = "  4294967296     134217728   float    17016  252.40  220.85    N/A    16474  260.71  228.12    N/A"
END = "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 12.5\n"


HEAD = "#  size  count  type  redop  root  time  algbw  busbw  #wrong  time  algbw  busbw  #wrong"
ITERATION = "    15.90    17.20    17.10     3.21"
PER_ITERATION = NEW[: NEW.rindex("    15.61")] + ITERATION + NEW[NEW.rindex("    15.61") :] + ITERATION
BITS = NEW[: NEW.rindex("    15.61")] + "         0" + NEW[NEW.rindex("    15.61") :] + "         0"
FIRST = "    10000000       2500000     int     sum    1.611   6.21   9.31    0e+00    1.626   6.15   9.23    0e+00"
FIRST_HEAD = (
    "#      bytes             N    type      op     time  algbw  busbw      res     time  algbw  busbw      res"
)


@pytest.mark.parametrize(
    "before",
    [
        "[1,0]<stdout>: ",
        "[prterun-n1-4711@1,0]<stdout>: ",
        "Mon Nov 16 06:05:21 2026[1,0]<stdout>:",
        "[0] ",
        "00: ",
        "[pod/launcher-abc/launcher] ",
        "2026-11-16T06:05:21.123456789Z ",
        "launcher-1  | ",
        "\x1b[32m",
        "#",
    ],
)
@pytest.mark.parametrize("line", [NEW, OLD, BROADCAST])
def test_a_row_is_read_behind_whatever_a_launcher_or_a_log_puts_in_front(before, line):
    assert parse(before + line).rows == parse(line).rows != ()


@pytest.mark.parametrize(
    "line", [PER_ITERATION, BITS, NEW + "  2026-11-16 06:05:21", NEW.replace("   float", "fp8_e4m3")]
)
def test_columns_of_newer_versions_are_not_taken_for_wrong_elements(line):
    (row,) = parse(line).rows
    assert (row.seconds, row.wrong) == (pytest.approx(16.43e-6), 0)


def test_iterations_that_were_timed_say_how_far_apart_they_lie():
    assert parse(PER_ITERATION).rows[0].variation == pytest.approx(0.0321)


def test_the_head_names_columns_that_no_one_knew():
    text = HEAD.replace("#wrong  time", "#wrong  sparkle  time") + "  sparkle\n"
    line = NEW[: NEW.rindex("    15.61")] + "   7" + NEW[NEW.rindex("    15.61") :] + "   7"
    assert parse(text + line).rows[0].wrong == 0


def test_the_first_versions_counted_milliseconds():
    (row,) = parse(f"{FIRST_HEAD}\n{FIRST}").rows
    assert (row.seconds, row.wrong) == (pytest.approx(1.611e-3), 0)


@pytest.mark.parametrize("deviation", ["5e-01", "nan", "inf", "-nan"])
def test_a_deviation_too_large_is_wrong_numbers_and_a_small_one_is_not(deviation):
    assert parse(OLD.replace("N/A", deviation)).rows[0].wrong
    assert parse(OLD.replace("N/A", "2e-07")).rows[0].wrong == 0
    assert parse(BROADCAST.replace("0e+00", "2e-07").replace("float", "int32")).rows[0].wrong


def test_what_the_tool_itself_found_wrong_is_reported():
    assert parse(NEW + "\n" + END).damage == ""
    assert parse(NEW + "\n# Out of bounds values : 4 FAILED\n").damage == "4 values out of bounds"
    assert "other bits" in parse(NEW + "\n# Bitwise mismatches   : 7 FAILED\n").damage
    assert parse(json.dumps({"results": [], "out_of_bounds": {"count": 3, "okay": "false"}})).damage


def test_which_collective_ran():
    assert parse("# Collective test starting: alltoall_perf_mpi\n" + NEW).operation == "all_to_all"
    assert parse("$ mpirun -np 16 ./build/reduce_scatter_perf -b 8\n" + NEW).operation == "reduce_scatter"
    assert parse(NEW).operation == "all_reduce"  # what it reduces goes over the bus nearly twice
    assert parse(GATHER).operation == ""


ROOTED_HEAD = "#  size  count  type  redop  root  time  algbw  busbw  #wrong  time  algbw  busbw  #wrong"


@pytest.mark.parametrize(
    ("front", "reduces", "operation"),
    [
        ("sum -1", True, "all_reduce"),
        ("sum 0", True, "reduce"),
        ("none 0", False, ""),
        ("-1", False, ""),
        ("none -1", False, ""),
    ],
)
def test_a_row_without_a_reduction_is_read_and_a_sum_with_a_root_is_a_reduce(front, reduces, operation):
    found = parse(f"{ROOTED_HEAD}\n 1024 256 float {front} 10.0 0.10 0.10 0 11.0 0.09 0.09 0\n")
    (row,) = found.rows
    assert (row.seconds, row.wrong, row.reduces) == (pytest.approx(10e-6), 0, reduces)
    assert found.operation == operation


NO_ADAPTER = (
    "n1:1:1 [0] NCCL INFO NET/IB : No device found.\nn1:1:1 [0] NCCL INFO NET/IB : Using [RO]; OOB eth0:10.0.0.1<0>\n"
)


@pytest.mark.parametrize(
    ("expected", "network"),
    [
        (NO_ADAPTER + "n1:1:1 [0] NCCL INFO Using network Socket\n", "Socket"),
        (NO_ADAPTER + "n1:1:1 [0] NCCL INFO Assigned NET plugin Socket to comm\n", "Socket"),
        (NO_ADAPTER + "n1:1:1 [0] NCCL INFO NET/Socket : Using [0]eth0:10.0.0.1<0>\n", "Socket"),
        ("n1:1:1 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB ; OOB eth0\n", "IB"),
        ("n1:1:1 [0] NCCL INFO Using network AWS Libfabric\n", "AWS Libfabric"),
        ("n1:1:1 [0] NCCL INFO Using network IB\nn2:1:1 [0] NCCL INFO Using network Socket\n", "Socket"),
    ],
)
def test_the_network_is_what_was_chosen_not_what_was_tried(expected, network):
    assert parse(expected).network == network


@pytest.mark.parametrize("length", range(40, len(NEW)))
def test_a_row_that_is_cut_off_is_whole_or_not_there(length):
    for row in parse(f"{HEAD}\n{NEW}\n{NEW[:length]}").rows:
        assert (row.seconds, row.busbw_bytes_per_second, row.wrong) == (
            pytest.approx(16.43e-6),
            pytest.approx(0.11e9),
            0,
        )


@pytest.mark.parametrize("line", ["9" * 5000 + NEW, NEW[:-1] + "1e999", NEW.replace("16.43", "9" * 400)])
def test_figures_beyond_belief_are_no_crash(line):
    parse(line)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("srun: error: n2: task 3: Killed\n", "task 3: Killed"),
        ("ssh: connect to host n2 port 22: No route to host\n", "No route to host"),
        ("PRTE has lost communication with a remote daemon.\n", "lost communication"),
        (NEW + "\nmpirun noticed that process rank 3 with PID 0 on node n2 exited on signal 9 (Killed).\n", "rank 3"),
    ],
)
def test_who_gave_up_is_reported(text, expected):
    assert expected in parse(text).trouble


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


def test_who_took_part_is_read_where_a_page_took_the_signs_in_front_away():
    assert parse((DEVICES + NEW + "\n" + END).replace("#", "")).hosts == ("n1", "n2")


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
    assert not parse(json.dumps(document)).complete and "without an end_time" in parse(json.dumps(document)).trouble
    assert parse("\ufeff" + json.dumps({**document, "end_time": "now"})) == found
    document["results"] = [{"size": 1024, "out_of_place": None, "in_place": body, "in_place_per_iter": {"p95_us": 9.0}}]
    assert parse(json.dumps(document)).rows[0].p95_seconds == pytest.approx(9e-6)
    assert "cannot be read" in parse(json.dumps(document)[:-9]).trouble


@given(
    st.text()
    | st.lists(st.sampled_from([NEW, OLD, GATHER, BITS, HEAD, DEVICES, END, "{", "1 2 ff . . . . ."])).map("\n".join)
)
def test_no_text_is_too_strange(text):
    parse(text)


SCRAPS = st.none() | st.booleans() | st.integers() | st.floats() | st.text()


@given(st.recursive(SCRAPS, lambda x: st.lists(x) | st.dictionaries(st.sampled_from(["size", "time", "config"]), x)))
def test_no_json_is_too_strange(content):
    parse(json.dumps({"results": [content], "config": content, "average_bus_bandwidth": content, "errors": content}))
    parse(json.dumps({"results": content}))
