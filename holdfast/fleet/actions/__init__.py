"""Back ends that carry out actions, one per file. Each says whether it is idempotent, and supports dry run."""
