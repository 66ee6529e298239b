"""Alembic's entry: migrations run on the connection, and inside the transaction, that the store hands over."""

from alembic import context

context.configure(connection=context.config.attributes["connection"], transactional_ddl=True)
context.run_migrations()
