"""Flight Recorder dumps: every version's layout, and hostile bytes that must not run."""

import json
import os
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.formats.pytorch.flight_recorder import NotADump, parse
from tests.diagnosis import recorder


def test_a_pickle_and_its_json_say_the_same():
    raw = recorder.raw(2, [recorder.collective(1), recorder.collective(2, done=False)])
    assert parse(pickle.dumps(raw), "dump_1") == parse(json.dumps(raw).encode(), "rank_1.json")


def test_only_what_may_matter_is_kept_of_a_full_buffer():
    entries = [recorder.collective(n) for n in range(1, 2000)] + [recorder.collective(2000, done=False)]
    dump = parse(recorder.dump(2, entries), "dump_0")
    assert len(dump.operations) < 20
    assert dump.enqueued["0[0, 1]"] == 2000
    assert dump.completed["0[0, 1]"] == 1999


def test_the_place_in_the_program_is_the_users_own():
    dump = parse(recorder.dump(2, [recorder.collective(1, done=False)]), "dump_0")
    assert dump.operations[0].frame == "/job/train.py:42 train_step"


def test_the_rank_is_reported_by_its_groups_before_the_name_of_the_file():
    groups = {"1": {"name": "1", "desc": "tp", "ranks": "[1]"}}
    assert parse(recorder.dump(2, [recorder.collective(1)], groups), "copy_of_dump_0").rank == 1


def test_version_2_10_is_newer_than_2_9():
    newer = recorder.raw(1, [recorder.collective(1)], version="2.10")
    assert parse(pickle.dumps(newer), "dump_0").version > (2, 9)


def test_progress_given_as_text_is_a_number():
    raw = recorder.raw(1, [])
    raw["pg_status"] = {"0": {"last_enqueued_collective": "7", "last_completed_collective": "6"}}
    dump = parse(json.dumps(raw).encode(), "rank_0.json")
    assert dump.enqueued == {"0[0]": 7}
    assert dump.completed == {"0[0]": 6}


def test_a_hung_rank_without_entries_still_reports_its_progress_by_the_order_of_its_groups():
    raw = recorder.raw(4, [], {"38": {"name": "38", "desc": "tp", "ranks": "[2, 3]"}})
    raw["pg_status"] = {"5": {"last_enqueued_collective": 9}, "0": {"last_enqueued_collective": 3}}
    assert parse(pickle.dumps(raw), "dump_2").enqueued == {"0[0, 1, 2, 3]": 3, "38[2, 3]": 9}


def test_gloo_never_updates_its_states_so_the_counter_reports():
    entries = [recorder.collective(n, done=False) for n in (1, 2, 3)]
    raw = recorder.raw(2, entries)
    raw["pg_status"] = {"0": {"last_enqueued_collective": 3, "last_completed_collective": 2}}
    dump = parse(pickle.dumps(raw), "dump_0")
    assert [operation.pending for operation in dump.operations] == [False, False, True]


class _Attack:
    def __reduce__(self):
        return os.mkdir, ("attacked",)


def test_a_pickle_that_would_run_code_is_refused_and_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NotADump, match=r"refused: .* posix.mkdir"):
        parse(pickle.dumps({"version": "2.9", "entries": [_Attack()]}), "dump_0")
    assert not (tmp_path / "attacked").exists()


def test_a_cut_off_dump_says_so():
    data = recorder.dump(2, [recorder.collective(1)])
    with pytest.raises(NotADump, match="cut off"):
        parse(data[: len(data) // 2], "dump_0")


def test_nothing_that_reports_the_rank_is_reported():
    with pytest.raises(NotADump, match="the rank of this dump is unknown"):
        parse(recorder.dump(2, [recorder.collective(1)]), "dump")


@given(st.binary(max_size=400))
def test_any_bytes_are_a_dump_or_a_sentence(data):
    try:
        parse(data, "dump_0")
    except NotADump as error:
        assert str(error)


@given(
    st.recursive(
        st.none() | st.integers() | st.text(max_size=5), lambda x: st.lists(x) | st.dictionaries(st.text(max_size=5), x)
    )
)
def test_any_values_in_the_right_places_are_a_dump_or_a_sentence(value):
    for broken in (
        {"version": "2.9", "entries": [value]},
        {"version": value, "entries": []},
        {"version": "2.9", "entries": [], "pg_config": value, "pg_status": value},
        {"version": "2.9", "entries": [{"process_group": value, "pg_id": 1, "frames": value}]},
    ):
        try:
            parse(pickle.dumps(broken), "dump_0")
        except NotADump as error:
            assert str(error)
