"""Plants drawn wide: constants, noise, instruments, topology and load at random. No limit of a seam was set on them."""
