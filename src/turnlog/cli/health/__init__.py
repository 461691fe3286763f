"""Commands that find and fix damage: `check`, `doctor`, `repair`, `salvage`; also `plugins`."""
