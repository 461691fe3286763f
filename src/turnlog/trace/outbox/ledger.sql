-- The outbox: what is waiting for tracing backends, what was sent, and the progress of each session. Unlike the index, it
-- can't be rebuilt: without it, spans would be sent a second time.

CREATE TABLE target (
    id          INTEGER PRIMARY KEY,
    key         TEXT NOT NULL UNIQUE,       -- trace.targets.target.TraceTarget.key
    shown       TEXT,                       -- its name for people
    sent        INTEGER NOT NULL DEFAULT 0, -- batches that were accepted
    sent_spans  INTEGER NOT NULL DEFAULT 0,
    repeats     INTEGER NOT NULL DEFAULT 0, -- batches that were sent again and may have arrived before
    repeated_spans INTEGER NOT NULL DEFAULT 0,
    partials    INTEGER NOT NULL DEFAULT 0, -- batches that were accepted only in part
    -- Times are in seconds since 1970 by the machine's clock; NULL if it never happened.
    succeeded   REAL,
    failed      REAL,
    error       TEXT,                       -- the last failure
    warned      REAL,
    warning     TEXT,                       -- the server's message about the last batch that it accepted only in part
    held        REAL,                       -- since when new spans have been held back
    reason      TEXT,                       -- and why
    -- While the server is down, it is not tried for each batch.
    fails       INTEGER NOT NULL DEFAULT 0, -- failures since the last success
    since       REAL,                       -- the pause before the next attempt
    until       REAL
);

CREATE TABLE batch (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,  -- never reused: a process may still hold a deleted one
    target      INTEGER NOT NULL,
    state       TEXT NOT NULL,              -- 'waiting', 'late' (it failed too often, and waits behind all others),
                                            -- 'flying' (it is being sent, or its sender died), 'quarantined'
    unsure      INTEGER NOT NULL DEFAULT 0, -- an attempt failed, but it may have arrived
    tries       INTEGER NOT NULL DEFAULT 0,
    place       INTEGER,                    -- its order: the id of the original batch
    part        TEXT NOT NULL DEFAULT '',   -- then which half of it, and which half of that half: '0', '01'
    made        REAL NOT NULL,
    spans       INTEGER NOT NULL,
    size        INTEGER NOT NULL,
    refused     REAL,
    error       TEXT,
    trace       BLOB NOT NULL,
    ids         BLOB NOT NULL               -- the ids of its spans, 8 bytes each
);
CREATE INDEX batch_order ON batch (target, state, place, part, made, spans, size);

-- The requests, in a table of their own, because SQLite writes a changed row again completely.
CREATE TABLE body (
    batch       INTEGER PRIMARY KEY,
    bytes       BLOB NOT NULL
);
CREATE TRIGGER batch_gone AFTER DELETE ON batch BEGIN DELETE FROM body WHERE batch = old.id; END;

-- Every span that was ever put, sent or not, so that none is put a second time.
CREATE TABLE claim (
    target      INTEGER NOT NULL,
    span        BLOB NOT NULL,
    trace       BLOB NOT NULL,
    PRIMARY KEY (target, span)
) WITHOUT ROWID;

CREATE TABLE progress (
    target      INTEGER NOT NULL,
    path        BLOB NOT NULL,
    text        TEXT NOT NULL,
    PRIMARY KEY (target, path)
) WITHOUT ROWID;
