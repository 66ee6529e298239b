"""Launcher that keeps training processes when one of them dies. Read launcher.py first."""
