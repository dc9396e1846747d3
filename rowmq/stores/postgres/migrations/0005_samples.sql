-- What happened to each queue in each minute and quarter of an hour, and how far that has been sampled.

CREATE TABLE rowmq_samples (
    span      bigint NOT NULL,
    at        bigint NOT NULL,
    queue     bigint NOT NULL,
    pushed    bigint NOT NULL,
    done      bigint NOT NULL,
    dead      bigint NOT NULL,
    failed    bigint NOT NULL,
    ready     bigint NOT NULL,
    scheduled bigint NOT NULL,
    leased    bigint NOT NULL,
    waits     text   NOT NULL,
    runs      text   NOT NULL,
    PRIMARY KEY (span, at, queue)
);
CREATE INDEX rowmq_samples_queue ON rowmq_samples (queue, span, at);

CREATE TABLE rowmq_sampled (
    id      bigint PRIMARY KEY,
    until   bigint NOT NULL,
    seq     bigint NOT NULL,
    failure bigint NOT NULL
);
