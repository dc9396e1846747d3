-- What happened to each queue in each minute and quarter of an hour, and how far that has been sampled.

CREATE TABLE rowmq_samples (
    span      INTEGER NOT NULL,
    at        INTEGER NOT NULL,
    queue     INTEGER NOT NULL,
    pushed    INTEGER NOT NULL,
    done      INTEGER NOT NULL,
    dead      INTEGER NOT NULL,
    failed    INTEGER NOT NULL,
    ready     INTEGER NOT NULL,
    scheduled INTEGER NOT NULL,
    leased    INTEGER NOT NULL,
    waits     TEXT    NOT NULL,
    runs      TEXT    NOT NULL,
    PRIMARY KEY (span, at, queue)
) WITHOUT ROWID;
CREATE INDEX rowmq_samples_queue ON rowmq_samples (queue, span, at);

CREATE TABLE rowmq_sampled (
    id      INTEGER PRIMARY KEY,
    until   INTEGER NOT NULL,
    seq     INTEGER NOT NULL,
    failure INTEGER NOT NULL
);
