-- A queue as a table: read it with SELECT. Times are UTC. MySQL lets nobody INSERT into such a view: push with
--     CALL rowmq_publish(<queue>, <id or NULL>, <JSON payload>, <or bytes>, <metadata or NULL>, <scheduled_for or NULL>)

CREATE VIEW {view} AS
SELECT LOWER(CONCAT_WS('-', SUBSTR(HEX(m.id), 1, 8), SUBSTR(HEX(m.id), 9, 4), SUBSTR(HEX(m.id), 13, 4), SUBSTR(HEX(m.id), 17, 4),
                       SUBSTR(HEX(m.id), 21))) AS id,
       CASE WHEN NOT m.`binary` THEN JSON_EXTRACT(CONVERT(m.body USING utf8mb4), '$') END AS payload,
       CASE WHEN m.`binary` THEN m.body END AS payload_bytes,
       COALESCE(m.metadata, '{}') AS metadata,
       TIMESTAMPADD(MICROSECOND, m.created_at, TIMESTAMP'1970-01-01 00:00:00') AS created_at,
       TIMESTAMPADD(MICROSECOND, p.claimed_at, TIMESTAMP'1970-01-01 00:00:00') AS started_at,
       TIMESTAMPADD(MICROSECOND, m.scheduled_for, TIMESTAMP'1970-01-01 00:00:00') AS scheduled_for,
       TIMESTAMPADD(MICROSECOND, CASE WHEN p.token IS NOT NULL THEN COALESCE(p.visible_at, p.parked_until) END, TIMESTAMP'1970-01-01 00:00:00') AS locked_until,
       CAST(NULL AS DATETIME(6)) AS processed_at,
       COALESCE((SELECT error FROM rowmq_failures f WHERE f.seq = m.seq ORDER BY f.id DESC LIMIT 1), CONVERT(p.reason USING utf8mb4)) AS error_detail,
       p.receives AS consumed_count
FROM rowmq_pending p JOIN rowmq_messages m ON m.seq = p.seq
WHERE p.queue = (SELECT id FROM rowmq_queues WHERE name = {queue})
UNION ALL
SELECT LOWER(CONCAT_WS('-', SUBSTR(HEX(m.id), 1, 8), SUBSTR(HEX(m.id), 9, 4), SUBSTR(HEX(m.id), 13, 4), SUBSTR(HEX(m.id), 17, 4),
                       SUBSTR(HEX(m.id), 21))) AS id,
       CASE WHEN NOT m.`binary` THEN JSON_EXTRACT(CONVERT(m.body USING utf8mb4), '$') END AS payload,
       CASE WHEN m.`binary` THEN m.body END AS payload_bytes,
       COALESCE(m.metadata, '{}') AS metadata,
       TIMESTAMPADD(MICROSECOND, m.created_at, TIMESTAMP'1970-01-01 00:00:00') AS created_at,
       TIMESTAMPADD(MICROSECOND, o.started_at, TIMESTAMP'1970-01-01 00:00:00') AS started_at,
       TIMESTAMPADD(MICROSECOND, m.scheduled_for, TIMESTAMP'1970-01-01 00:00:00') AS scheduled_for,
       CAST(NULL AS DATETIME(6)) AS locked_until,
       TIMESTAMPADD(MICROSECOND, o.finished_at, TIMESTAMP'1970-01-01 00:00:00') AS processed_at,
       COALESCE((SELECT error FROM rowmq_failures f WHERE f.seq = m.seq ORDER BY f.id DESC LIMIT 1), CONVERT(o.reason USING utf8mb4)) AS error_detail,
       o.receives AS consumed_count
FROM rowmq_outcomes o JOIN rowmq_messages m ON m.seq = o.seq
WHERE o.queue = (SELECT id FROM rowmq_queues WHERE name = {queue});
