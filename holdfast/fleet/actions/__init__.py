"""What should be done, done in the world: one back end per file, each idempotent and each able to rehearse."""
