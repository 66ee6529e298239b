"""Notifications of inbox items and alerts to people and their tools."""
