"""Progress reports of ranks. Read progress.py first."""
