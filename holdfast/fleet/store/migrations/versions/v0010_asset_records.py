"""A separate table for the asset records of nodes, which were seam documents before."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    if not sa.inspect(op.get_bind()).has_table("asset_records"):
        op.create_table(
            "asset_records",
            sa.Column("node", sa.Text, primary_key=True),
            sa.Column("at", sa.Double, nullable=False),
            sa.Column("body", sa.Text, nullable=False),
        )
    op.execute(
        "INSERT INTO asset_records (node, at, body) SELECT name, at, body FROM seam_documents WHERE kind = 'assets'"
    )
    op.execute("DELETE FROM seam_documents WHERE kind = 'assets'")
