"""What runs centrally: decisions, incidents, jobs, store, actions, API and the controller process."""
