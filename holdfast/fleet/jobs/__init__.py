"""Training jobs: slow ranks, ledger, risk, checkpoints. Pure."""
