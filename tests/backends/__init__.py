"""Sessions sent to real tracing backends on loopback, and read back through the backends' own APIs.

servers.py       starts and ends them; scripts/install-backends gets them into .backends
seen.py          what was read back, in words that both backends share
phoenix.py       reads from Arize Phoenix
mlflow.py        reads from MLflow
turn.py          a turn made by hand, whose tokens, times and costs are known
"""
