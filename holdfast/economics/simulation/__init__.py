"""A fleet's months in seconds. Pure: luck, and the rules of a node's life, are passed in."""
