"""One rule per module: explains symptoms across domains by one kind of cause."""
