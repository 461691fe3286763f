"""What ails a session."""
