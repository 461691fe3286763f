"""Secrets out of texts, entries and files: one engine for every exit of the program.

`rules` says what is looked for, `redactor` replaces it by marks such as `[secret:github:1]`, `report` tells how often
and where, never what.
"""
