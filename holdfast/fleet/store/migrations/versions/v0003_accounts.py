"""What a seam's incident rests on and what it costs."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.add_column("incidents", sa.Column("account", sa.Text, nullable=True))
