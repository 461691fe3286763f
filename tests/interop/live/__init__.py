"""What a session is doing, as the real client's screen shows it, against what the board says.

server, seat, screen   a scripted API, a real client in a terminal, and the state that its screen shows
observer, stage        what a run leaves on disk and in /proc, and one run with its clients
scripts, record        the runs, and `python -m tests.interop.live.record`, which performs them
recording              one run as a file (tests/data/live_recordings)
replay, score          `python -m tests.interop.live.score`: recordings played to the board, and how often it is right
"""
