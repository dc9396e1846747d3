-- What to watch, for a data source that speaks SQL: MySQL and MariaDB. Times in the tables are microseconds.

-- name: depth
-- How many messages each queue has in each state.
SELECT CONVERT(q.name USING utf8mb4) AS queue,
       sum(CASE WHEN coalesce(p.visible_at, p.parked_until) <= CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS SIGNED) THEN 1 ELSE 0 END) AS ready,
       sum(CASE WHEN coalesce(p.visible_at, p.parked_until) > CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS SIGNED) AND p.token IS NULL THEN 1 ELSE 0 END) AS scheduled,
       sum(CASE WHEN coalesce(p.visible_at, p.parked_until) > CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS SIGNED) AND p.token IS NOT NULL THEN 1 ELSE 0 END) AS leased
FROM rowmq_queues q LEFT JOIN rowmq_pending p ON p.queue = q.id
WHERE LEFT(q.name, 1) <> 0x1f
GROUP BY q.name ORDER BY q.name;

-- name: oldest_age
-- Seconds that the longest-waiting ready message of each queue has waited; 0 if none is.
SELECT CONVERT(q.name USING utf8mb4) AS queue,
       coalesce((CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS SIGNED) - min(coalesce(p.visible_at, p.parked_until))) / 1000000.0, 0) AS seconds
FROM rowmq_queues q
LEFT JOIN rowmq_pending p ON p.queue = q.id AND coalesce(p.visible_at, p.parked_until) <= CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS SIGNED)
WHERE LEFT(q.name, 1) <> 0x1f
GROUP BY q.name ORDER BY q.name;

-- name: dead
-- Dead messages of each queue, and how many of them died within the last 15 minutes.
SELECT CONVERT(q.name USING utf8mb4) AS queue, count(o.seq) AS dead,
       sum(CASE WHEN o.finished_at > CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS SIGNED) - 900000000 THEN 1 ELSE 0 END) AS lately
FROM rowmq_queues q LEFT JOIN rowmq_outcomes o ON o.queue = q.id AND o.state = 'dead'
WHERE LEFT(q.name, 1) <> 0x1f
GROUP BY q.name ORDER BY q.name;

-- name: finished
-- Messages finished in each of the last 60 minutes, by queue and state.
SELECT o.finished_at DIV 60000000 * 60 AS time, CONVERT(q.name USING utf8mb4) AS queue, o.state AS state, count(*) AS finished
FROM rowmq_outcomes o JOIN rowmq_queues q ON q.id = o.queue
WHERE o.finished_at > CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS SIGNED) - 3600000000
GROUP BY time, q.name, o.state ORDER BY time, q.name, o.state;

-- name: silent
-- Seconds since the last push to each queue: a producer that has stopped looks like a quick consumer.
-- It looks at every message that is kept, so ask every few minutes, not every few seconds.
SELECT CONVERT(q.name USING utf8mb4) AS queue, (CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS SIGNED) - max(m.created_at)) / 1000000.0 AS seconds
FROM rowmq_queues q JOIN rowmq_messages m ON m.queue = q.id
WHERE LEFT(q.name, 1) <> 0x1f
GROUP BY q.name ORDER BY q.name;
