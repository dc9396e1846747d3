-- Results of acks, rates of queues, and who leads in a role.

ALTER TABLE rowmq_outcomes ADD COLUMN result BLOB;

ALTER TABLE rowmq_queues ADD COLUMN rate_limit INTEGER;
ALTER TABLE rowmq_queues ADD COLUMN rate_period INTEGER;

-- How much the bucket of a queue with a rate held at a moment, in millionths of a message.
CREATE TABLE rowmq_rates (
    queue INTEGER PRIMARY KEY,
    room  INTEGER NOT NULL,
    at    INTEGER NOT NULL
);

CREATE TABLE rowmq_leads (
    name   TEXT    PRIMARY KEY,
    holder TEXT    NOT NULL,
    until  INTEGER NOT NULL
) WITHOUT ROWID;
