"""Why a job died: its evidence ranked into causes, and the next step. Pure."""
