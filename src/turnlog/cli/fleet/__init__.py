"""`turnlog fleet`: the sessions of many people in one lake."""
