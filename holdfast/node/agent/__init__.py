"""The agent process: joins sources, history and checks; reports to the controller and executes its orders."""
