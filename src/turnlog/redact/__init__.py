"""Removes secrets from texts, entries and files: one engine for everything that leaves the machine.

`rules` chooses what to search for, `redactor` replaces it by placeholders such as `[secret:github:1]`, and
`redaction_report` says how many were found and where, never what they are.
"""
