"""What can go wrong with a session: each module detects, describes and repairs one family of illnesses.

`catalogue` lists them all and diagnoses a session, `verdict` judges whether a session can be resumed, and `repair`
applies the repairs. `illness` defines the values that they share.
"""
