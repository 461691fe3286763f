"""Renders a session for people as HTML, Markdown or plain text."""
