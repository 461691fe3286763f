"""Programs that we compare ourselves with, in the versions that the numbers are for."""
