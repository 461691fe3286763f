"""What changes sessions on the disk: one verb a file, each with a way back."""
