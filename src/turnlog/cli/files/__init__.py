"""Commands for the files of a session: `files`, `restore`."""
