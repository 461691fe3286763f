"""The Messages API: requests, answers, and models (a server or a script)."""
