"""The insights page on a lake instead of this machine's sessions."""
