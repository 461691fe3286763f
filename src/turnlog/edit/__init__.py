"""Edits to sessions on disk: one verb per file or folder, each with a way back."""
