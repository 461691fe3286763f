"""The files of a session: `files`, `restore`."""
