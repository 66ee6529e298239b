"""The controller's work for operators: inbox, notifications, figures of the home page."""
