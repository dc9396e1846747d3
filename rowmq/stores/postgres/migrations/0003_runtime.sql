-- Results of acks, rates of queues, and who leads in a role.

ALTER TABLE rowmq_outcomes ADD COLUMN result bytea;

ALTER TABLE rowmq_queues ADD COLUMN rate_limit bigint, ADD COLUMN rate_period bigint;

-- How much the bucket of a queue with a rate held at a moment, in millionths of a message. Each claim rewrites
-- its row, so there is room beside it for the next version.
CREATE TABLE rowmq_rates (
    queue bigint PRIMARY KEY,
    room  bigint NOT NULL,
    at    bigint NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE rowmq_leads (
    name   text   PRIMARY KEY,
    holder text   NOT NULL,
    until  bigint NOT NULL
);
