"""Sessions that follow a project folder to another place."""
