"""Every capability of turnlog as one typed function that returns a value.

`turnlog` exports the functions; the command line, the web app and other programs call the same ones. A function here
never prints, asks or exits. What a user should know while it works goes to `notify(text)`, how far it is to
`progress(done, total)`; both may be left out. `config` says where sessions and turnlog's own data are; without it the
environment and the settings file decide, as for the command line.
"""
