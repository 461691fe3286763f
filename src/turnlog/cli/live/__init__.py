"""Commands that follow sessions or play them back."""
