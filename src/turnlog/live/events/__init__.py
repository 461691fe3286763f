"""What happens in a session, as typed events: the same ones live, in a replay and after the fact."""
