"""The Messages API: what is asked, what comes back, and who answers (a server, or a script)."""
