"""What the controller does for operators: the inbox, notifications, the figures of the home page."""
