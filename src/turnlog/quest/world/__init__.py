"""The world of the quest for the terminal: a port of the web page's `world.js`, kept equal by shared test vectors."""
