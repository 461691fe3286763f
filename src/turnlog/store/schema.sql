-- The index of all session files. Everything in it can be rebuilt from the files, except the rows of deleted files. It
-- does not contain texts, only their places.

-- Folders, tools, models and other names that rows repeat.
CREATE TABLE name (
    id      INTEGER PRIMARY KEY,
    kind    TEXT NOT NULL,              -- 'project' (a folder below <config>/projects), 'tool', 'model', 'place' (a cwd)
    text    TEXT NOT NULL,
    UNIQUE (kind, text)
);

CREATE TABLE session (
    id      INTEGER PRIMARY KEY,
    project INTEGER NOT NULL,           -- name.id: the folder of the project
    uuid    TEXT NOT NULL,              -- the session's id: the name of its file
    UNIQUE (project, uuid)
);

-- One row per file. The first columns are entries.tail.Checkpoint.
-- talks: it contains an entry of the user or the model outside sub-agents. custom to aside_prompt: its titles, each up
-- to 1,000 characters (entries.titles.SessionTitles); title is the one to show, in the order of TITLE_ORDER. is_session:
-- it counts as a session (store.session_counts).
CREATE TABLE file (
    id          INTEGER PRIMARY KEY,
    path        TEXT NOT NULL UNIQUE,
    kind        TEXT NOT NULL,          -- 'session', 'agent', 'output' (a large result beside the transcript)
    session     INTEGER NOT NULL,       -- session.id
    agent       TEXT,                   -- the id of the sub-agent
    gone        INTEGER,                -- when it was first found missing (seconds since 1970); NULL while it exists
    offset      INTEGER NOT NULL DEFAULT 0,
    inode       INTEGER NOT NULL DEFAULT 0,
    size        INTEGER NOT NULL DEFAULT 0,
    mtime_ns    INTEGER NOT NULL DEFAULT 0,
    ctime_ns    INTEGER NOT NULL DEFAULT 0, -- entries.file_stamp, when it was last found changed
    head_hash   TEXT NOT NULL DEFAULT '',
    tail_hash   TEXT NOT NULL DEFAULT '',
    generation  INTEGER NOT NULL DEFAULT 0,
    filled      INTEGER NOT NULL DEFAULT 0, -- how far everything is indexed; up to `offset`, only the conversation
    room        INTEGER NOT NULL DEFAULT 0, -- text.id for its next text beyond `filled`; 0: it could not be read
    shard       INTEGER,                -- the shard (store.index.shards) that contains its rest up to `bound`; NULL: none
    bound       INTEGER NOT NULL DEFAULT 0,
    -- a summary of its entries, in the order of the file (session.texts.outline.TranscriptOutline)
    entries     INTEGER NOT NULL DEFAULT 0,
    broken      INTEGER NOT NULL DEFAULT 0,
    prompts     INTEGER NOT NULL DEFAULT 0,
    talks       INTEGER NOT NULL DEFAULT 0,
    compactions INTEGER NOT NULL DEFAULT 0,
    started     TEXT,                   -- the earliest and the latest timestamp
    ended       TEXT,
    cwd         TEXT,                   -- the first and the last working folder
    last_cwd    TEXT,
    git_branch  TEXT,
    version     TEXT,
    root        TEXT,                   -- the uuid of its first entry that has one: copies share it
    forked_from TEXT,                   -- the session that an entry names as its origin
    made_by     TEXT,                   -- how turnlog made it from that: 'clone', 'fork', 'repair'
    custom      TEXT,
    ai          TEXT,
    summary     TEXT,
    first_prompt TEXT,
    first_command TEXT,
    last_prompt TEXT,
    aside_prompt TEXT,
    title       TEXT AS (coalesce(custom, ai, summary, first_prompt, first_command, last_prompt, aside_prompt)),
    tag         TEXT,
    is_session  INTEGER AS (kind = 'session' AND (talks OR broken > 0))
);
CREATE INDEX file_session ON file (session);
CREATE INDEX file_shard ON file (shard) WHERE shard IS NOT NULL;
CREATE INDEX file_unfilled ON file (room) WHERE filled < offset;

-- The folders that were listed: while none of them changes, no file is added or deleted.
CREATE TABLE folder (path TEXT PRIMARY KEY, mtime_ns INTEGER NOT NULL) WITHOUT ROWID;

-- An assistant message as one file records it (session.usage.message_counts.MessageCounts). Several files may have copies.
CREATE TABLE answer (
    key         TEXT NOT NULL,          -- message.id, else the uuid of its line; with '#1' … for a request that is billed separately
    file        INTEGER NOT NULL,
    model       INTEGER,                -- name.id
    first       TEXT NOT NULL,
    last        TEXT NOT NULL,
    input       INTEGER NOT NULL,
    output      INTEGER NOT NULL,
    cache_read  INTEGER NOT NULL,
    cache_write INTEGER NOT NULL,       -- for both lifetimes
    cache_write_1h INTEGER NOT NULL,
    searches    INTEGER NOT NULL,
    lowest      INTEGER NOT NULL,       -- the smallest output count of its lines
    stopped     INTEGER NOT NULL,       -- whether a line has a stop reason
    sidechain   INTEGER NOT NULL,
    version     TEXT,                   -- of its last line
    terms       TEXT,                   -- speed|service_tier|inference_geo if one of them is unusual
    letters     INTEGER NOT NULL,       -- characters of its texts, thinking and inputs, for an estimate
    requests    TEXT,                   -- the usage of each request, if there were several (session.usage.iterations)
    PRIMARY KEY (file, key)             -- the rows of a file are stored, and read, together
) WITHOUT ROWID;
CREATE INDEX answer_key ON answer (key);

-- Sums of usage: every message once, in the session that has it first. Computed from `answer` (store.index.spend_table).
CREATE TABLE spend (
    hour        INTEGER NOT NULL,       -- hours since 1970, UTC, in which the messages ended; -1: unknown
    session     INTEGER NOT NULL,
    model       INTEGER,
    messages    INTEGER NOT NULL,
    input       INTEGER NOT NULL,
    output      INTEGER NOT NULL,
    cache_read  INTEGER NOT NULL,
    cache_write_5m INTEGER NOT NULL,
    cache_write_1h INTEGER NOT NULL,
    searches    INTEGER NOT NULL,
    cost        INTEGER NOT NULL,       -- pico dollars
    saved       INTEGER NOT NULL,       -- pico dollars that the cache saved
    unpriced    INTEGER NOT NULL,       -- tokens
    final       INTEGER NOT NULL,       -- messages by quality
    partial     INTEGER NOT NULL,
    placeholder INTEGER NOT NULL,
    missing     INTEGER NOT NULL,
    estimate    INTEGER NOT NULL,       -- estimated output tokens beyond the recorded ones, of messages without a final count
    first       INTEGER NOT NULL,       -- seconds since 1970
    last        INTEGER NOT NULL
);
CREATE INDEX spend_session ON spend (session);

-- A tool call as one file records it. Several files may have copies.
CREATE TABLE call (
    id          TEXT NOT NULL,
    file        INTEGER NOT NULL,
    tool        INTEGER,                -- name.id; NULL for a result whose call is not in the file
    started     TEXT,
    ended       TEXT,                   -- NULL while unanswered
    failed      INTEGER,                -- NULL while unanswered
    given       INTEGER,                -- characters of its input
    got         INTEGER,                -- characters of its result
    path        TEXT,                   -- the file that its input names
    shown       TEXT,                   -- the file whose whole content its result contains; '=': that of its input
    PRIMARY KEY (file, id)
) WITHOUT ROWID;

-- The place of a searchable text. Higher ids are newer.
CREATE TABLE text (
    id          INTEGER PRIMARY KEY,
    file        INTEGER NOT NULL,
    offset      INTEGER NOT NULL,
    kind        INTEGER NOT NULL,       -- its place in session.texts.texts.TEXT_KINDS
    time        INTEGER NOT NULL        -- seconds since 1970; 0: unknown
);

-- The numbers of a file's texts: all from the first to the last of each run. An index over `file` would be much larger.
CREATE TABLE run (
    file    INTEGER NOT NULL,
    first   INTEGER NOT NULL,           -- text.id
    last    INTEGER NOT NULL,
    PRIMARY KEY (file, first)
) WITHOUT ROWID;

-- The texts that people search first (titles, prompts, answers), and all others. The rowid is `id` of `text`.
-- facet: words that start with U+E000, for filters (store.index.facets).
CREATE VIRTUAL TABLE said USING fts5 (
    words, paths, facet,
    content='', contentless_delete=1, tokenize="unicode61 remove_diacritics 2"
);
CREATE VIRTUAL TABLE done USING fts5 (
    words, paths, facet,
    content='', contentless_delete=1, tokenize="unicode61 remove_diacritics 2"
);

-- The camelCase identifiers in the texts, as written. One that no text contains any more may stay.
CREATE TABLE identifier (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);

-- Their parts: get, user, name. The rowid is `id` of `identifier`.
CREATE VIRTUAL TABLE hump USING fts5 (parts, content='', detail=none, columnsize=0, tokenize=ascii);

CREATE TABLE fact (name TEXT PRIMARY KEY, value ANY) WITHOUT ROWID;
