"""The commands that write sessions: `clone`, `fork`, `strip`, `redact`, `rename`, `delete`, `move`, `pack`, `undo` …"""
