-- Times and spans are whole microseconds; times count from 1970-01-01 UTC.

CREATE TABLE rowmq_queues (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    name           TEXT    NOT NULL UNIQUE,
    max_attempts   INTEGER,
    lease          INTEGER NOT NULL,
    delay          INTEGER NOT NULL,
    backoff_first  INTEGER NOT NULL,
    backoff_factor REAL    NOT NULL,
    backoff_cap    INTEGER NOT NULL,
    backoff_jitter REAL    NOT NULL,
    delivery       TEXT    NOT NULL,
    fifo           INTEGER NOT NULL,
    retention      INTEGER,
    max_age        INTEGER,
    dead_letter    INTEGER REFERENCES rowmq_queues (id),
    paused         INTEGER NOT NULL,
    max_length     INTEGER,
    archive        TEXT    NOT NULL,
    tags           TEXT    NOT NULL,
    created_at     INTEGER NOT NULL,
    updated_at     INTEGER NOT NULL
);

-- What was said, written once.
CREATE TABLE rowmq_messages (
    seq           INTEGER PRIMARY KEY AUTOINCREMENT,
    id            BLOB    NOT NULL UNIQUE,
    queue         INTEGER NOT NULL,
    body          BLOB,
    binary        INTEGER NOT NULL,
    metadata      TEXT,
    priority      INTEGER NOT NULL,
    group_name    TEXT,
    dedup_key     TEXT,
    created_at    INTEGER NOT NULL,
    scheduled_for INTEGER,
    deadline      INTEGER
);

-- What is still owed. Exactly one of visible_at and parked_until is set: a parked message waits behind
-- the head of its group.
CREATE TABLE rowmq_pending (
    seq          INTEGER PRIMARY KEY,
    queue        INTEGER NOT NULL,
    priority     INTEGER NOT NULL,
    visible_at   INTEGER,
    parked_until INTEGER,
    group_id     INTEGER,
    attempts     INTEGER NOT NULL DEFAULT 0,
    receives     INTEGER NOT NULL DEFAULT 0,
    token        BLOB,
    consumer     TEXT,
    claimed_at   INTEGER,
    deadline     INTEGER,
    source       TEXT,
    reason       TEXT
);
CREATE INDEX rowmq_pending_due ON rowmq_pending (queue, priority, visible_at, seq);
CREATE INDEX rowmq_pending_group ON rowmq_pending (group_id, visible_at, seq) WHERE group_id IS NOT NULL;

-- What became of it.
CREATE TABLE rowmq_outcomes (
    seq         INTEGER PRIMARY KEY,
    queue       INTEGER NOT NULL,
    state       TEXT    NOT NULL,
    reason      TEXT,
    finished_at INTEGER NOT NULL,
    attempts    INTEGER NOT NULL,
    receives    INTEGER NOT NULL,
    token       BLOB,
    consumer    TEXT,
    started_at  INTEGER,
    source      TEXT,
    archived_at INTEGER
);
CREATE INDEX rowmq_outcomes_finished ON rowmq_outcomes (queue, state, finished_at);

-- Each attempt that went wrong.
CREATE TABLE rowmq_failures (
    id         INTEGER PRIMARY KEY,
    seq        INTEGER NOT NULL,
    attempt    INTEGER NOT NULL,
    queue      TEXT    NOT NULL,
    consumer   TEXT,
    started_at INTEGER,
    ended_at   INTEGER NOT NULL,
    error      TEXT    NOT NULL
);
CREATE INDEX rowmq_failures_seq ON rowmq_failures (seq);

CREATE TABLE rowmq_groups (
    id    INTEGER PRIMARY KEY AUTOINCREMENT,
    queue INTEGER NOT NULL,
    name  TEXT    NOT NULL,
    UNIQUE (queue, name)
);

CREATE TABLE rowmq_dedup (
    queue      INTEGER NOT NULL,
    dedup_key  TEXT    NOT NULL,
    id         BLOB    NOT NULL,
    seq        INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (queue, dedup_key)
) WITHOUT ROWID;
CREATE INDEX rowmq_dedup_expiry ON rowmq_dedup (expires_at);

CREATE TABLE rowmq_claims (
    name       TEXT    PRIMARY KEY,
    queue      INTEGER NOT NULL,
    token      BLOB    NOT NULL,
    runs       INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    seqs       TEXT    NOT NULL
) WITHOUT ROWID;

CREATE TABLE rowmq_topics (
    id       INTEGER PRIMARY KEY,
    name     TEXT    NOT NULL UNIQUE,
    bound_at INTEGER
);

CREATE TABLE rowmq_bindings (
    topic INTEGER NOT NULL,
    queue INTEGER NOT NULL,
    PRIMARY KEY (topic, queue)
) WITHOUT ROWID;

CREATE TABLE rowmq_consumers (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    queue       INTEGER NOT NULL,
    name        TEXT    NOT NULL,
    born_at     INTEGER NOT NULL,
    alive_until INTEGER NOT NULL,
    UNIQUE (queue, name)
);

CREATE TABLE rowmq_schedules (
    name    TEXT    PRIMARY KEY,
    queue   INTEGER NOT NULL,
    spec    TEXT    NOT NULL,
    message TEXT    NOT NULL,
    next_at INTEGER NOT NULL,
    paused  INTEGER NOT NULL
) WITHOUT ROWID;

-- What was deleted, so that every message can be accounted for.
CREATE TABLE rowmq_ledger (
    id        INTEGER PRIMARY KEY,
    at        INTEGER NOT NULL,
    queue     TEXT    NOT NULL,
    action    TEXT    NOT NULL,
    count     INTEGER NOT NULL,
    first_seq INTEGER NOT NULL,
    last_seq  INTEGER NOT NULL
);
