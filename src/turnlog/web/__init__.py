"""The web app: shows sessions in a browser, on this machine only.

Each page has a folder (home/, reading/, search/, insights/, live/) with its routes and views. actions/ contains the
changes that a page can request, and background/ the work that the server does between requests. docs/web.md describes
every page.
"""
