"""Join tokens bound to names and networks, nodes that wait for approval, tokens of a job's own nodes, and actions
that may have run."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.add_column("join_tokens", sa.Column("nodes", sa.Text, nullable=False, server_default=""))
    op.add_column("join_tokens", sa.Column("network", sa.Text, nullable=False, server_default=""))
    op.add_column("join_tokens", sa.Column("vouches", sa.Boolean, nullable=False, server_default=sa.false()))
    op.execute(sa.text("UPDATE join_tokens SET vouches = :yes WHERE uses_left <= 1").bindparams(yes=True))
    op.add_column("credentials", sa.Column("nodes", sa.Text, nullable=False, server_default=""))
    op.add_column("credentials", sa.Column("job", sa.Text, nullable=False, server_default=""))
    op.add_column("actions", sa.Column("begun", sa.Boolean, nullable=False, server_default=sa.false()))
    op.create_table(
        "pending",
        sa.Column("token_hash", sa.Text, primary_key=True),
        *(sa.Column(name, sa.Text, nullable=False) for name in ("name", "pool", "place", "address")),
        sa.Column("at", sa.Double, nullable=False),
    )
    op.create_index("pending_name", "pending", ["name"])
