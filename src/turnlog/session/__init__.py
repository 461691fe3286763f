"""Entries -> meaning: graph, messages, turns, calls, usage and what the client would resume."""
