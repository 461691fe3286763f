"""The content of a session for people, written as HTML, Markdown or plain text."""
