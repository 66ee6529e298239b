"""The TOML reader for all files that people write, and optional extras."""
