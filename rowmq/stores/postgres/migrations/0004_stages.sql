-- What bulk writers have set down until all of it is pushed at once, and which of their batches were. What is
-- staged is not logged: a crash empties it, the writer finds less than it was promised, and writes again.

CREATE UNLOGGED TABLE rowmq_stages (
    job        text    NOT NULL,
    stage      text    NOT NULL,
    part       integer NOT NULL,
    count      integer NOT NULL,
    chunk      bytea   NOT NULL,
    created_at bigint  NOT NULL,
    PRIMARY KEY (job, stage, part)
);
ALTER TABLE rowmq_stages ALTER COLUMN chunk SET STORAGE EXTERNAL;
CREATE INDEX rowmq_stages_age ON rowmq_stages (created_at);

CREATE TABLE rowmq_batches (
    name   text   PRIMARY KEY,
    number bigint NOT NULL,
    at     bigint NOT NULL
);
