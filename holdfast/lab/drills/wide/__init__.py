"""Random sites: constants, noise, instruments, topology and load are drawn. No rule limit was set on them."""
