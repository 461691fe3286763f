"""What a session shows to people, and how it is written: as HTML, as Markdown, as plain text."""
