"""Back ends that carry out actions, one per file. Each is idempotent and supports dry run."""
