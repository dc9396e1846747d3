-- A queue as a table: read it with SELECT, push to it with INSERT.

CREATE VIEW {view} AS
SELECT m.id AS id,
       CASE WHEN NOT m."binary" THEN convert_from(m.body, 'UTF8')::json END AS payload,
       CASE WHEN m."binary" THEN m.body END AS payload_bytes,
       COALESCE(m.metadata::jsonb, '{}') AS metadata,
       'epoch'::timestamptz + m.created_at * interval '1 microsecond' AS created_at,
       'epoch'::timestamptz + p.claimed_at * interval '1 microsecond' AS started_at,
       'epoch'::timestamptz + m.scheduled_for * interval '1 microsecond' AS scheduled_for,
       'epoch'::timestamptz + CASE WHEN p.token IS NOT NULL THEN COALESCE(p.visible_at, p.parked_until) END * interval '1 microsecond' AS locked_until,
       NULL::timestamptz AS processed_at,
       COALESCE((SELECT error FROM rowmq_failures f WHERE f.seq = m.seq ORDER BY f.id DESC LIMIT 1), p.reason) AS error_detail,
       p.receives AS consumed_count
FROM rowmq_pending p JOIN rowmq_messages m ON m.seq = p.seq
WHERE p.queue = (SELECT id FROM rowmq_queues WHERE name = {queue})
UNION ALL
SELECT m.id AS id,
       CASE WHEN NOT m."binary" THEN convert_from(m.body, 'UTF8')::json END AS payload,
       CASE WHEN m."binary" THEN m.body END AS payload_bytes,
       COALESCE(m.metadata::jsonb, '{}') AS metadata,
       'epoch'::timestamptz + m.created_at * interval '1 microsecond' AS created_at,
       'epoch'::timestamptz + o.started_at * interval '1 microsecond' AS started_at,
       'epoch'::timestamptz + m.scheduled_for * interval '1 microsecond' AS scheduled_for,
       NULL::timestamptz AS locked_until,
       'epoch'::timestamptz + o.finished_at * interval '1 microsecond' AS processed_at,
       COALESCE((SELECT error FROM rowmq_failures f WHERE f.seq = m.seq ORDER BY f.id DESC LIMIT 1), o.reason) AS error_detail,
       o.receives AS consumed_count
FROM rowmq_outcomes o JOIN rowmq_messages m ON m.seq = o.seq
WHERE o.queue = (SELECT id FROM rowmq_queues WHERE name = {queue});

-- INSERT takes id, payload (JSON) or payload_bytes, metadata and scheduled_for, each optional but the payload.
-- The metadata keys rowmq.key, rowmq.group and rowmq.priority set the dedup key, the group and the priority.
CREATE TRIGGER {trigger} INSTEAD OF INSERT ON {view}
FOR EACH ROW EXECUTE FUNCTION rowmq_insert({queue});
