"""Commands that show one session: `show`, `messages` and `cat`."""
