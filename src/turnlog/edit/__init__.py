"""What changes sessions on the disk: one verb a file or folder, each with a way back."""
