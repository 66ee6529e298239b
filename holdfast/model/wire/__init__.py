"""Messages between processes: reports, orders, digests, progress, probe requests."""
