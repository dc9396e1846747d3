-- Times and spans are whole microseconds; times count from 1970-01-01 UTC. Names are VARBINARY: as text,
-- 'Emails' would be 'emails', and 'a ' would be 'a'. Tables are made only where they are missing, because
-- a migration that was interrupted has kept what it had made.

CREATE TABLE IF NOT EXISTS rowmq_queues (
    id             BIGINT          NOT NULL AUTO_INCREMENT PRIMARY KEY,
    name           VARBINARY(1040) NOT NULL UNIQUE,
    max_attempts   INTEGER,
    lease          BIGINT          NOT NULL,
    delay          BIGINT          NOT NULL,
    backoff_first  BIGINT          NOT NULL,
    backoff_factor DOUBLE          NOT NULL,
    backoff_cap    BIGINT          NOT NULL,
    backoff_jitter DOUBLE          NOT NULL,
    delivery       VARBINARY(32)   NOT NULL,
    fifo           BOOLEAN         NOT NULL,
    retention      BIGINT,
    max_age        BIGINT,
    dead_letter    BIGINT,
    paused         BOOLEAN         NOT NULL,
    max_length     BIGINT,
    archive        VARBINARY(32)   NOT NULL,
    tags           LONGTEXT        NOT NULL,
    created_at     BIGINT          NOT NULL,
    updated_at     BIGINT          NOT NULL
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- What was said, written once.
CREATE TABLE IF NOT EXISTS rowmq_messages (
    seq           BIGINT     NOT NULL AUTO_INCREMENT PRIMARY KEY,
    id            BINARY(16) NOT NULL UNIQUE,
    queue         BIGINT     NOT NULL,
    body          LONGBLOB,
    `binary`      BOOLEAN    NOT NULL,
    metadata      LONGTEXT,
    priority      TINYINT    NOT NULL,
    group_name    VARBINARY(1040),
    dedup_key     VARBINARY(1040),
    created_at    BIGINT     NOT NULL,
    scheduled_for BIGINT,
    deadline      BIGINT
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- What is still owed. Exactly one of visible_at and parked_until is set: a parked message waits behind
-- the head of its group.
CREATE TABLE IF NOT EXISTS rowmq_pending (
    seq          BIGINT  NOT NULL PRIMARY KEY,
    queue        BIGINT  NOT NULL,
    priority     TINYINT NOT NULL,
    visible_at   BIGINT,
    parked_until BIGINT,
    group_id     BIGINT,
    attempts     INTEGER NOT NULL DEFAULT 0,
    receives     INTEGER NOT NULL DEFAULT 0,
    token        BINARY(16),
    consumer     VARBINARY(1040),
    claimed_at   BIGINT,
    deadline     BIGINT,
    source       VARBINARY(1040),
    reason       VARBINARY(32),
    INDEX rowmq_pending_due (queue, priority, visible_at, seq),
    INDEX rowmq_pending_group (group_id, visible_at, seq)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- What became of it.
CREATE TABLE IF NOT EXISTS rowmq_outcomes (
    seq         BIGINT        NOT NULL PRIMARY KEY,
    queue       BIGINT        NOT NULL,
    state       VARBINARY(32) NOT NULL,
    reason      VARBINARY(32),
    finished_at BIGINT        NOT NULL,
    attempts    INTEGER       NOT NULL,
    receives    INTEGER       NOT NULL,
    token       BINARY(16),
    consumer    VARBINARY(1040),
    started_at  BIGINT,
    source      VARBINARY(1040),
    archived_at BIGINT,
    INDEX rowmq_outcomes_finished (queue, state, finished_at)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Each attempt that went wrong.
CREATE TABLE IF NOT EXISTS rowmq_failures (
    id         BIGINT          NOT NULL AUTO_INCREMENT PRIMARY KEY,
    seq        BIGINT          NOT NULL,
    attempt    INTEGER         NOT NULL,
    queue      VARBINARY(1040) NOT NULL,
    consumer   VARBINARY(1040),
    started_at BIGINT,
    ended_at   BIGINT          NOT NULL,
    error      LONGTEXT        NOT NULL,
    INDEX rowmq_failures_seq (seq)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS rowmq_groups (
    id    BIGINT          NOT NULL AUTO_INCREMENT PRIMARY KEY,
    queue BIGINT          NOT NULL,
    name  VARBINARY(1040) NOT NULL,
    UNIQUE INDEX rowmq_groups_name (queue, name)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS rowmq_dedup (
    queue      BIGINT          NOT NULL,
    dedup_key  VARBINARY(1040) NOT NULL,
    id         BINARY(16)      NOT NULL,
    seq        BIGINT          NOT NULL,
    expires_at BIGINT          NOT NULL,
    PRIMARY KEY (queue, dedup_key),
    INDEX rowmq_dedup_expiry (expires_at)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS rowmq_claims (
    name       VARBINARY(1040) NOT NULL PRIMARY KEY,
    queue      BIGINT          NOT NULL,
    token      BINARY(16)      NOT NULL,
    runs       INTEGER         NOT NULL,
    created_at BIGINT          NOT NULL,
    seqs       LONGTEXT        NOT NULL,
    INDEX rowmq_claims_age (created_at)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS rowmq_topics (
    id       BIGINT          NOT NULL AUTO_INCREMENT PRIMARY KEY,
    name     VARBINARY(1040) NOT NULL UNIQUE,
    bound_at BIGINT
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS rowmq_bindings (
    topic BIGINT NOT NULL,
    queue BIGINT NOT NULL,
    PRIMARY KEY (topic, queue)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS rowmq_consumers (
    id          BIGINT          NOT NULL AUTO_INCREMENT PRIMARY KEY,
    queue       BIGINT          NOT NULL,
    name        VARBINARY(1040) NOT NULL,
    born_at     BIGINT          NOT NULL,
    alive_until BIGINT          NOT NULL,
    UNIQUE (queue, name)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS rowmq_schedules (
    name    VARBINARY(1040) NOT NULL PRIMARY KEY,
    queue   BIGINT          NOT NULL,
    spec    LONGTEXT        NOT NULL,
    message LONGTEXT        NOT NULL,
    next_at BIGINT          NOT NULL,
    paused  BOOLEAN         NOT NULL
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- What was deleted, so that every message can be accounted for.
CREATE TABLE IF NOT EXISTS rowmq_ledger (
    id        BIGINT          NOT NULL AUTO_INCREMENT PRIMARY KEY,
    at        BIGINT          NOT NULL,
    queue     VARBINARY(1040) NOT NULL,
    action    VARBINARY(32)   NOT NULL,
    count     BIGINT          NOT NULL,
    first_seq BIGINT          NOT NULL,
    last_seq  BIGINT          NOT NULL
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
