"""Commands that find and fix damage (`check`, `doctor`, `repair` and `salvage`), and `plugins`."""
