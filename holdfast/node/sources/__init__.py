"""Sources: each reads one interface of the node. The root path is an argument."""
