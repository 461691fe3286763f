"""Each capability of turnlog is one typed function that returns a value.

`turnlog` exports the functions; the command line, the web app and other programs call the same ones. A function here
never prints, asks or exits. It passes messages for the user to `notify(text)` and its progress to `progress(done,
total)`; both are optional. `config` contains the locations of sessions and of turnlog's own data; without it, the
environment and the settings file are used, as on the command line.
"""
