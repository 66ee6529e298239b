"""What local disks report about themselves."""
