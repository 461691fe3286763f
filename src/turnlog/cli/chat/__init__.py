"""`turnlog chat` and `turnlog -p`."""
