"""Edits to sessions on disk: each command has its own file or folder, and each edit can be reversed."""
