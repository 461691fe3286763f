"""What happens in a session, as typed events; live views, replays and reports use the same ones."""
