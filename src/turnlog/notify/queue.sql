CREATE TABLE session (              -- what was notified; triggers.AlertRecord
    path TEXT PRIMARY KEY,
    record BLOB NOT NULL,
    updated REAL NOT NULL
) WITHOUT ROWID;

CREATE TABLE delivery (             -- messages that are waiting for a channel
    id INTEGER PRIMARY KEY,
    channel TEXT NOT NULL,
    created REAL NOT NULL,
    expires REAL NOT NULL,
    notice BLOB NOT NULL,           -- redacted already; without credentials
    tries INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX delivery_channel ON delivery (channel);

CREATE TABLE channel (
    name TEXT PRIMARY KEY,
    sent INTEGER NOT NULL DEFAULT 0,
    succeeded REAL,                 -- when a message was last delivered
    dropped INTEGER NOT NULL DEFAULT 0,     -- refused, expired, or too many
    fails INTEGER NOT NULL DEFAULT 0,       -- failures since the last success
    since REAL,                     -- the pause: from when
    until REAL,                     -- and until when
    failed REAL,
    error TEXT
) WITHOUT ROWID;

CREATE TABLE page_notice (          -- the latest messages, for the open pages of the web app
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    created REAL NOT NULL,
    notice BLOB NOT NULL
);
