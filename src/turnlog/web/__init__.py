"""The web app: sessions in a browser, served to this machine alone."""
