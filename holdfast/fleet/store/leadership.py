"""Leadership: every write names its epoch, which is checked at commit. A lock alone does not stop an old leader."""

from sqlalchemy import Connection, select, update

from holdfast.fleet.store.bulk import insert_into
from holdfast.fleet.store.engine import clock
from holdfast.fleet.store.errors import StaleEpoch
from holdfast.fleet.store.schema import leader
from holdfast.model.records import Leader

FENCED = "holdfast.fenced"  # the leading epoch, cached in the current transaction


def lead(connection: Connection, holder: str, now: float | None, lease_seconds: float) -> int | None:
    """Takes the lead if it is free and returns the new epoch; None while another lease is valid. A holder is one
    process."""
    moment = clock(connection) if now is None else now
    vacant = {"id": 1, "holder": "", "epoch": 0, "until": 0.0}
    connection.execute(insert_into(connection, leader).on_conflict_do_nothing(), vacant)
    found = connection.execute(select(leader).with_for_update()).one()
    if found.holder not in ("", holder) and found.until > moment:
        if found.until > moment + lease_seconds:  # the clock was set back: a lease never lasts longer than its length
            connection.execute(update(leader).values(until=moment + lease_seconds))
        return None
    # Epochs follow the clock so that they also rise across a restore of yesterday's store.
    epoch: int = max(found.epoch + 1, int(moment))
    connection.execute(update(leader).values(holder=holder, epoch=epoch, until=moment + lease_seconds))
    return epoch


def renew(connection: Connection, epoch: int, now: float | None, lease_seconds: float) -> bool:
    """Extends the lease. False if another controller leads; this one must then stop at once."""
    moment = clock(connection) if now is None else now
    changed = update(leader).where(leader.c.epoch == epoch).values(until=moment + lease_seconds)
    return connection.execute(changed).rowcount == 1


def resign(connection: Connection, epoch: int) -> None:
    """Gives up the lead at once, so that another controller need not wait for the lease to expire."""
    connection.execute(update(leader).where(leader.c.epoch == epoch).values(holder="", until=0.0))


def current(connection: Connection) -> Leader | None:
    found = connection.execute(select(leader)).one_or_none()
    return Leader(holder=found.holder, epoch=found.epoch, until=found.until) if found and found.holder else None


def fence(connection: Connection, epoch: int) -> None:
    """Raises an error unless this epoch leads. No other controller can take the lead until the transaction ends, so one
    check is enough."""
    if connection.info.get(FENCED) == epoch:
        return
    found = connection.execute(select(leader.c.epoch).with_for_update(read=True)).scalar_one_or_none()
    if found != epoch:
        raise StaleEpoch(epoch, found)
    connection.info[FENCED] = epoch
