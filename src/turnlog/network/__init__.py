"""Servers that turnlog talks to: their addresses, proxies, and connections."""
