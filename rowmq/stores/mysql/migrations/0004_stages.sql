-- What bulk writers have set down until all of it is pushed at once, and which of their batches were.

CREATE TABLE IF NOT EXISTS rowmq_stages (
    job        VARBINARY(1040) NOT NULL,
    stage      VARBINARY(255)  NOT NULL,
    part       INTEGER         NOT NULL,
    count      INTEGER         NOT NULL,
    chunk      LONGBLOB        NOT NULL,
    created_at BIGINT          NOT NULL,
    PRIMARY KEY (job, stage, part),
    KEY rowmq_stages_age (created_at)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS rowmq_batches (
    name   VARBINARY(1040) NOT NULL PRIMARY KEY,
    number BIGINT          NOT NULL,
    at     BIGINT          NOT NULL
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
