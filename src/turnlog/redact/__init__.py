"""Removes secrets from text, entries and files: one engine for everything that leaves the machine.

`rules` chooses what to search for, `redactor` replaces it with placeholders such as `[secret:github:1]`, and
`redaction_report` reports how many were found and where, never what they are.
"""
