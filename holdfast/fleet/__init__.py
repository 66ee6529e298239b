"""The central part: decisions, incidents, jobs, store, actions, API and the controller process."""
