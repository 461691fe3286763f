"""Whether a command may be run: `judge` decides; the others say what a line of bash is, and what it would do.

words     the words of one simple command, as bash reads them
line      a line taken apart into simple commands; what in it can't be checked
runners   commands that run another command
tables    what programs do, and which options make them do more
variables which variables a command sets, and whether bash computes what they are set to
effects   which files a simple command reads and changes, by those tables
exposure  whether it may print files that its words do not name
folders   where a line goes, and which files its words then mean
"""
