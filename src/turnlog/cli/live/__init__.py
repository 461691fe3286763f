"""Commands that follow sessions or play them again."""
