"""The sprites of the quest, drawn by code: one module for each kind of sheet."""
