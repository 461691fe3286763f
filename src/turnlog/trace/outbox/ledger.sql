-- The outbox: what is to be sent to tracing backends, what was sent, and how far each session is. Unlike the index it
-- can't be made again: what it knows to be sent would be sent a second time.

CREATE TABLE target (
    id          INTEGER PRIMARY KEY,
    key         TEXT NOT NULL UNIQUE,       -- trace.target.Target.key
    shown       TEXT,                       -- its name for people
    sent        INTEGER NOT NULL DEFAULT 0, -- batches that were accepted
    sent_spans  INTEGER NOT NULL DEFAULT 0,
    repeats     INTEGER NOT NULL DEFAULT 0, -- batches that were sent again and may have arrived before
    repeated_spans INTEGER NOT NULL DEFAULT 0,
    partials    INTEGER NOT NULL DEFAULT 0, -- batches that were accepted, but not all of them
    -- Times are seconds since 1970 as the machine's clock had them. NULL: it never happened.
    succeeded   REAL,
    failed      REAL,
    error       TEXT,                       -- what the last failure was
    warned      REAL,
    warning     TEXT,                       -- what the server said of the last batch that it took only in part
    held        REAL,                       -- since when new spans are held back
    reason      TEXT,                       -- and why
    -- While the server is down it is not asked for each batch.
    fails       INTEGER NOT NULL DEFAULT 0, -- failures since the last success
    since       REAL,                       -- the pause before the next attempt
    until       REAL
);

CREATE TABLE batch (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,  -- never used again: somebody may still hold one that is gone
    target      INTEGER NOT NULL,
    state       TEXT NOT NULL,              -- 'waiting', 'late' (it waits behind all others, for it failed too often),
                                            -- 'flying' (it is being sent, or its sender died), 'quarantined'
    unsure      INTEGER NOT NULL DEFAULT 0, -- a sending of it failed in such a way that it may have arrived
    tries       INTEGER NOT NULL DEFAULT 0,
    place       INTEGER,                    -- its order: the id of the batch that was put
    part        TEXT NOT NULL DEFAULT '',   -- then which half of it, and which half of that: '0', '01'
    made        REAL NOT NULL,
    spans       INTEGER NOT NULL,
    size        INTEGER NOT NULL,
    refused     REAL,
    error       TEXT,
    trace       BLOB NOT NULL,
    ids         BLOB NOT NULL               -- the ids of its spans, 8 bytes each
);
CREATE INDEX batch_order ON batch (target, state, place, part, made, spans, size);

-- What is sent; apart, because a row that changes is written anew with all that is in it.
CREATE TABLE body (
    batch       INTEGER PRIMARY KEY,
    bytes       BLOB NOT NULL
);
CREATE TRIGGER batch_gone AFTER DELETE ON batch BEGIN DELETE FROM body WHERE batch = old.id; END;

-- Every span that was ever put, sent or not: none is put a second time.
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
