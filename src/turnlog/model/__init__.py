"""The Messages API: requests, answers, and models that answer (a server or a script)."""
