-- What happened to each queue in each minute and quarter of an hour, and how far that has been sampled.

CREATE TABLE IF NOT EXISTS rowmq_samples (
    span      BIGINT   NOT NULL,
    at        BIGINT   NOT NULL,
    queue     BIGINT   NOT NULL,
    pushed    BIGINT   NOT NULL,
    done      BIGINT   NOT NULL,
    dead      BIGINT   NOT NULL,
    failed    BIGINT   NOT NULL,
    ready     BIGINT   NOT NULL,
    scheduled BIGINT   NOT NULL,
    leased    BIGINT   NOT NULL,
    waits     LONGTEXT NOT NULL,
    runs      LONGTEXT NOT NULL,
    PRIMARY KEY (span, at, queue),
    KEY rowmq_samples_queue (queue, span, at)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS rowmq_sampled (
    id      BIGINT NOT NULL PRIMARY KEY,
    until   BIGINT NOT NULL,
    seq     BIGINT NOT NULL,
    failure BIGINT NOT NULL
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
