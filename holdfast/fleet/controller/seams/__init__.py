"""The controller's seam loop: reads the facility, evaluates the rules, opens and closes incidents."""
