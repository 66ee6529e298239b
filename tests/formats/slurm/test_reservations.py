"""Reservations as scontrol shows them; arbitrary text never raises."""

from hypothesis import given
from hypothesis import strategies as st

from holdfast.formats.slurm import reservations

SHOWN = (
    "ReservationName=holdfast_n17_1794913973000 StartTime=2026-11-17T11:12:53 EndTime=2026-11-24T11:12:53 "
    "Duration=7-00:00:00 Nodes=n17 NodeCnt=1 CoreCnt=2 Features=(null) PartitionName=(null) "
    "Flags=MAINT,IGNORE_JOBS,SPEC_NODES TRES=cpu=2 Users=root State=ACTIVE\n"
    "ReservationName=course StartTime=2026-11-17T11:12:53 Nodes=n[1-3] NodeCnt=3 Users=ana State=INACTIVE\n"
    "ReservationName=licenses StartTime=2026-11-17T11:12:53 Nodes=n[3- NodeCnt=0 Users=ana State=ACTIVE\n"
)


def test_each_reservation_with_its_nodes() -> None:
    assert reservations.from_scontrol(SHOWN) == {
        "holdfast_n17_1794913973000": ("n17",),
        "course": ("n1", "n2", "n3"),
    }
    assert reservations.from_scontrol("No reservations in the system\n") == {}


@given(st.text() | st.text().map(lambda text: f"ReservationName={text} Nodes={text}"))
def test_arbitrary_text_is_read_without_a_crash(text: str) -> None:
    reservations.from_scontrol(text)
