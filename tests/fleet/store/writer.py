"""A controller's writer for tests that kill it: commits report after report and says so only afterwards.

`python writer.py URL SESSION PER_COMMIT`: each line it prints is a report number that it was told is safe.
"""

import sys

from holdfast.fleet.store import Store
from holdfast.model.signal import Event
from holdfast.model.wire.report import Report


def report(session: str, seq: int) -> Report:
    event = Event(kind="xid", at=1.0, text=f"{session} {seq}")
    return Report(node="n1", session=session, seq=seq, at=1.0, events=(event,), heartbeat=True)


def main(url: str, session: str, per_commit: int) -> None:
    store = Store.open(url)
    seq = 1
    while True:
        batch = [report(session, number) for number in range(seq, seq + per_commit)]
        store.record(batch, 1_800_000_000.0)
        sys.stdout.write("".join(f"{one.seq}\n" for one in batch))
        sys.stdout.flush()
        seq += per_commit


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
