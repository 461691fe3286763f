"""Ways to a session: names in addresses, the rail of sessions, the palette."""
