"""Accounts of seam incidents: evidence and cost."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.add_column("incidents", sa.Column("account", sa.Text, nullable=True))
