"""What ails a session: `check`, `doctor`, `repair`, `salvage`."""
