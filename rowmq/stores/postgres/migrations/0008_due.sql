-- With seq itself at its end this index could serve a look-up by seq, and did, read from end to end, whenever the statistics
-- said that nothing was owed: an ack beside a million dead rows then took minutes. A sum is no column that anybody looks up.

DROP INDEX rowmq_pending_due;
CREATE INDEX rowmq_pending_due ON rowmq_pending (queue, priority, visible_at, (seq + 0));
