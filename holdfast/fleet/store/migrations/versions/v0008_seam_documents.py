"""Documents of the seams: the learned baseline of each signal, and announced work."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    if sa.inspect(op.get_bind()).has_table("seam_documents"):
        return
    op.create_table(
        "seam_documents",
        sa.Column("kind", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("at", sa.Double, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
    )
