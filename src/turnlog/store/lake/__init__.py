"""A lake: the sessions of many people as Parquet tables on a disk or in an object store (docs/fleet.md).

`fleet` builds lakes; this folder reads them. A snapshot lists the files that make up the tables, so a reader sees all
of a build or nothing of it. Packages that only lakes need are imported with `packages.import_package`.
"""
