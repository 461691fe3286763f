"""Removes secrets from text, entries and files; everything that leaves the machine uses the same engine.

`rules` chooses what to search for, `redactor` replaces it with placeholders such as `[secret:github:1]`, and
`redaction_report` reports how many secrets were found and where, but never their values.
"""
