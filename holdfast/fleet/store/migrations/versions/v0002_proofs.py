"""Results of probe sessions between two nodes."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.create_table(
        "proofs",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True),
        sa.Column("at", sa.Double, nullable=False),
        *(sa.Column(name, sa.Text, nullable=False) for name in ("one", "other")),
        sa.Column("bytes_per_second", sa.Double, nullable=False),
        sa.Column("note", sa.Text, nullable=False),
    )
    op.create_index("proofs_at", "proofs", ["at", "id"])
