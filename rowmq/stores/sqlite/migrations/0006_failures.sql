-- The newest failures of each queue: they are not looked for among everything that failed.

CREATE INDEX rowmq_failures_queue ON rowmq_failures (queue, id);
