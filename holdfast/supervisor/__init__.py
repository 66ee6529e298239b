"""The process beside a training command: watches it, says why it ended, and starts it again or not."""
