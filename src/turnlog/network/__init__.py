"""Servers that turnlog connects to: their addresses, proxies and connections."""
