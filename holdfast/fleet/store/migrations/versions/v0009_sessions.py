"""Sessions: which token opened them."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    op.add_column("credentials", sa.Column("opened_with", sa.Text, nullable=False, server_default=""))
