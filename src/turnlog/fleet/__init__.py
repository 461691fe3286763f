"""Builds lakes: reads the sessions of many people, on one machine or a cluster, and erases people from a lake.

    source      which files are session files, and whose
    plan        which of them are new, changed or deleted: the tasks of one build
    task        what a worker does: reads files, redacts them, writes parts
    engines     runs tasks in processes on this machine, or on a Dask cluster
    build       plans, runs and commits
    forget      erases a person from every table, and from history

The tables come from `export.tables`, the function behind `turnlog export --format parquet`.
"""
