"""Evidence of an attempt: log, kernel messages, stacks, Flight Recorder dumps."""
