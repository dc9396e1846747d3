-- The newest failures of each queue: they are not looked for among everything that failed. The index is made only
-- where it is missing, because a migration that was interrupted has kept what it had done.
DROP PROCEDURE IF EXISTS rowmq_add_index;

CREATE PROCEDURE rowmq_add_index()
BEGIN
    IF NOT EXISTS (SELECT 1 FROM information_schema.statistics WHERE table_schema = DATABASE()
                   AND table_name = 'rowmq_failures' AND index_name = 'rowmq_failures_queue') THEN
        CREATE INDEX rowmq_failures_queue ON rowmq_failures (queue, id);
    END IF;
END;

CALL rowmq_add_index();

DROP PROCEDURE rowmq_add_index;
