"""The web app: sessions in a browser, served to this machine alone.

A page is a folder (home/, reading/, search/, insights/, live/) with what it shows and asks for; actions/ is what a page
may let the program do, background/ what the server does while nobody asks. docs/web.md has a table of all.
"""
