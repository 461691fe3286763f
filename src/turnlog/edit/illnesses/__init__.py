"""What can ail a session: each module holds one family of illnesses, with its detection, its words and its repair.

`catalogue` lists them all and diagnoses a session, `verdict` judges whether a session can be resumed, and `repair`
applies the repairs. `illness` defines the values that they share.
"""
