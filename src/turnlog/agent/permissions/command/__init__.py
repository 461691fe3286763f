"""Decides whether a command may run: `judge` makes the decision, and the other modules analyse the line of bash.

words      the words of one simple command, as bash reads them
bash_line  a line split into simple commands, and the parts that can't be checked
runners    commands that run another command
tables     what programs do, and which options make them do more
variables  which variables a command sets, and whether bash evaluates their values
effects    which files a simple command reads and changes, according to the tables
exposure   whether a command may print files that it does not name
folders    which folders a line changes to, and which files its words refer to as a result
"""
