"""Notifications: what the inbox and the alerts send to people and their tools."""
