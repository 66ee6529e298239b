"""Detection of silent corruption. Read guard.py first."""
