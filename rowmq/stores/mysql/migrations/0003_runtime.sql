-- Results of acks, rates of queues, and who leads in a role. Columns are added only where they are missing,
-- because a migration that was interrupted has kept what it had done.
DROP PROCEDURE IF EXISTS rowmq_add_columns;

CREATE PROCEDURE rowmq_add_columns()
BEGIN
    IF NOT EXISTS (SELECT 1 FROM information_schema.columns WHERE table_schema = DATABASE()
                   AND table_name = 'rowmq_outcomes' AND column_name = 'result') THEN
        ALTER TABLE rowmq_outcomes ADD COLUMN result LONGBLOB;
    END IF;
    IF NOT EXISTS (SELECT 1 FROM information_schema.columns WHERE table_schema = DATABASE()
                   AND table_name = 'rowmq_queues' AND column_name = 'rate_period') THEN
        ALTER TABLE rowmq_queues ADD COLUMN rate_limit BIGINT, ADD COLUMN rate_period BIGINT;
    END IF;
END;

CALL rowmq_add_columns();

DROP PROCEDURE rowmq_add_columns;

-- How much the bucket of a queue with a rate held at a moment, in millionths of a message.
CREATE TABLE IF NOT EXISTS rowmq_rates (
    queue BIGINT NOT NULL PRIMARY KEY,
    room  BIGINT NOT NULL,
    at    BIGINT NOT NULL
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS rowmq_leads (
    name   VARBINARY(1040) NOT NULL PRIMARY KEY,
    holder VARBINARY(1040) NOT NULL,
    until  BIGINT          NOT NULL
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
