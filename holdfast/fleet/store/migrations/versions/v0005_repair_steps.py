"""Repair steps: new names of a node's field, of an event's field and of an event in stored documents."""

from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.execute("""UPDATE nodes SET body = replace(body, '"rung":', '"repair_step":')""")
    op.execute("""UPDATE transitions SET body = replace(body, '"lemon":', '"repeat_offender":')""")
    op.execute("""UPDATE transitions SET body = replace(body, '"kind":"climb"', '"kind":"next_repair"')""")
    op.execute("UPDATE transitions SET kind = 'next_repair' WHERE kind = 'climb'")
