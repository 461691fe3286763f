"""What ails a session.

`check` gives findings for `turnlog check`; `diagnosis` symptoms out of the catalogue (`illnesses`) for the doctor, and
most other modules look for one family of them. `resumable` is a verdict for edits, `leftovers` what is left where the
transcript is gone.
"""
