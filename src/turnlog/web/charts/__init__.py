"""Charts as SVG, rendered on the server: they need neither scripts nor inline styles.

Horizontal positions are percentages and vertical positions are pixels, so a chart fits any width while its text keeps
its size.
"""
