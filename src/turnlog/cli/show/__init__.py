"""Commands that show one session: `show`, `messages`, `cat`."""
