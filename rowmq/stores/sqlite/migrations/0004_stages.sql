-- What bulk writers have set down until all of it is pushed at once, and which of their batches were.

CREATE TABLE rowmq_stages (
    job        TEXT    NOT NULL,
    stage      TEXT    NOT NULL,
    part       INTEGER NOT NULL,
    count      INTEGER NOT NULL,
    chunk      BLOB    NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (job, stage, part)
);
CREATE INDEX rowmq_stages_age ON rowmq_stages (created_at);

CREATE TABLE rowmq_batches (
    name   TEXT    PRIMARY KEY,
    number INTEGER NOT NULL,
    at     INTEGER NOT NULL
) WITHOUT ROWID;
