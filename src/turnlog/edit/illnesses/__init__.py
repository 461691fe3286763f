"""Detects and repairs problems with a session; each module handles one family of illnesses.

`catalogue` lists them all and diagnoses a session, `verdict` decides whether a session can be resumed, and `repair`
applies the repairs. `illness` defines the types that they share.
"""
