"""Commands for the files of a session: `files` and `restore`."""
