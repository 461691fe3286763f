"""One session to read: `show`, `messages`, `cat`."""
