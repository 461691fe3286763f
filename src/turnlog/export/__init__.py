"""Exports of sessions: one module for each format, all from the same views."""
