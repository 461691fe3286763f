"""Servers that turnlog talks to: their addresses, the proxies on the way, and connections."""
