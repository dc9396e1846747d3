-- The newest failures of each queue, and of each message: neither is looked for among everything that failed.

CREATE INDEX rowmq_failures_queue ON rowmq_failures (queue, id);
CREATE INDEX rowmq_failures_newest ON rowmq_failures (seq, id);
DROP INDEX rowmq_failures_seq;
