"""Every turnlog feature is a typed function that returns a value.

The `turnlog` package exports these functions; the command line, the web app and other programs all call them. They
never print, prompt or exit. They pass messages for the user to `notify(text)` and progress to `progress(done, total)`;
both callbacks are optional. `config` contains the locations of sessions and of turnlog's own data; without it, the
environment and the settings file are used, as on the command line.
"""
