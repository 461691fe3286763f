"""Charts as SVG, made on the server: no script is needed to see one, and no inline style to size one.

Positions across are percentages, those up and down are pixels: a chart fills its place at any width, and its letters
stay as large as all others.
"""
