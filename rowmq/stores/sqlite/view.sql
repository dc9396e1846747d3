-- A queue as a table: read it with SELECT, push to it with INSERT. Times are UTC.

CREATE VIEW {view} AS
SELECT lower(substr(hex(m.id), 1, 8) || '-' || substr(hex(m.id), 9, 4) || '-' || substr(hex(m.id), 13, 4) || '-' || substr(hex(m.id), 17, 4)
             || '-' || substr(hex(m.id), 21)) AS id,
       CASE WHEN NOT m.binary THEN CAST(m.body AS TEXT) END AS payload,
       CASE WHEN m.binary THEN m.body END AS payload_bytes,
       COALESCE(m.metadata, '{}') AS metadata,
       strftime('%Y-%m-%d %H:%M:%f', m.created_at / 1000000.0, 'unixepoch') AS created_at,
       strftime('%Y-%m-%d %H:%M:%f', p.claimed_at / 1000000.0, 'unixepoch') AS started_at,
       strftime('%Y-%m-%d %H:%M:%f', m.scheduled_for / 1000000.0, 'unixepoch') AS scheduled_for,
       strftime('%Y-%m-%d %H:%M:%f', CASE WHEN p.token IS NOT NULL THEN COALESCE(p.visible_at, p.parked_until) END / 1000000.0, 'unixepoch') AS locked_until,
       NULL AS processed_at,
       COALESCE((SELECT error FROM rowmq_failures WHERE seq = m.seq ORDER BY id DESC LIMIT 1), p.reason) AS error_detail,
       p.receives AS consumed_count
FROM rowmq_pending p JOIN rowmq_messages m ON m.seq = p.seq
WHERE p.queue = (SELECT id FROM rowmq_queues WHERE name = {queue})
UNION ALL
SELECT lower(substr(hex(m.id), 1, 8) || '-' || substr(hex(m.id), 9, 4) || '-' || substr(hex(m.id), 13, 4) || '-' || substr(hex(m.id), 17, 4)
             || '-' || substr(hex(m.id), 21)) AS id,
       CASE WHEN NOT m.binary THEN CAST(m.body AS TEXT) END AS payload,
       CASE WHEN m.binary THEN m.body END AS payload_bytes,
       COALESCE(m.metadata, '{}') AS metadata,
       strftime('%Y-%m-%d %H:%M:%f', m.created_at / 1000000.0, 'unixepoch') AS created_at,
       strftime('%Y-%m-%d %H:%M:%f', o.started_at / 1000000.0, 'unixepoch') AS started_at,
       strftime('%Y-%m-%d %H:%M:%f', m.scheduled_for / 1000000.0, 'unixepoch') AS scheduled_for,
       NULL AS locked_until,
       strftime('%Y-%m-%d %H:%M:%f', o.finished_at / 1000000.0, 'unixepoch') AS processed_at,
       COALESCE((SELECT error FROM rowmq_failures WHERE seq = m.seq ORDER BY id DESC LIMIT 1), o.reason) AS error_detail,
       o.receives AS consumed_count
FROM rowmq_outcomes o JOIN rowmq_messages m ON m.seq = o.seq
WHERE o.queue = (SELECT id FROM rowmq_queues WHERE name = {queue});

-- INSERT takes id, payload (JSON) or payload_bytes, metadata and scheduled_for, each optional but the payload.
-- The metadata keys rowmq.key, rowmq.group and rowmq.priority set the dedup key, the group and the priority.
CREATE TRIGGER {trigger} INSTEAD OF INSERT ON {view}
BEGIN
    SELECT RAISE(ABORT, 'rowmq: the queue of this view does not exist')
    WHERE NOT EXISTS (SELECT 1 FROM rowmq_queues WHERE name = {queue});

    SELECT RAISE(ABORT, 'rowmq: give either a payload that is JSON or payload_bytes')
    WHERE (NEW.payload IS NULL) = (NEW.payload_bytes IS NULL) OR NOT json_valid(COALESCE(NEW.payload, '0'));

    SELECT RAISE(ABORT, 'rowmq: metadata is a JSON object of strings')
    WHERE NOT json_valid(COALESCE(NEW.metadata, '{{}}')) OR json_type(COALESCE(NEW.metadata, '{{}}')) <> 'object'
       OR EXISTS (SELECT 1 FROM json_each(COALESCE(NEW.metadata, '{{}}')) WHERE type <> 'text');

    SELECT RAISE(ABORT, 'rowmq: the priority is a whole number from 0 to 9')
    WHERE EXISTS (SELECT 1 FROM json_each(NEW.metadata) WHERE key = 'rowmq.priority' AND value NOT GLOB '[0-9]');

    SELECT RAISE(IGNORE)
    WHERE EXISTS (SELECT 1 FROM rowmq_dedup
                  WHERE queue = (SELECT id FROM rowmq_queues WHERE name = {queue}) AND expires_at > CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER)
                    AND dedup_key = (SELECT value FROM json_each(NEW.metadata) WHERE key = 'rowmq.key'));

    SELECT RAISE(ABORT, 'rowmq: the queue is full')
    FROM rowmq_queues q
    WHERE q.name = {queue} AND q.max_length <= (SELECT COUNT(*) FROM rowmq_pending WHERE queue = q.id);

    INSERT INTO rowmq_messages (id, queue, body, binary, metadata, priority, group_name, dedup_key, created_at, scheduled_for)
    SELECT CAST((SELECT byte FROM rowmq_hex WHERE pair = substr(given.hex, 1, 2)) ||
            (SELECT byte FROM rowmq_hex WHERE pair = substr(given.hex, 3, 2)) ||
            (SELECT byte FROM rowmq_hex WHERE pair = substr(given.hex, 5, 2)) ||
            (SELECT byte FROM rowmq_hex WHERE pair = substr(given.hex, 7, 2)) ||
            (SELECT byte FROM rowmq_hex WHERE pair = substr(given.hex, 9, 2)) ||
            (SELECT byte FROM rowmq_hex WHERE pair = substr(given.hex, 11, 2)) ||
            (SELECT byte FROM rowmq_hex WHERE pair = substr(given.hex, 13, 2)) ||
            (SELECT byte FROM rowmq_hex WHERE pair = substr(given.hex, 15, 2)) ||
            (SELECT byte FROM rowmq_hex WHERE pair = substr(given.hex, 17, 2)) ||
            (SELECT byte FROM rowmq_hex WHERE pair = substr(given.hex, 19, 2)) ||
            (SELECT byte FROM rowmq_hex WHERE pair = substr(given.hex, 21, 2)) ||
            (SELECT byte FROM rowmq_hex WHERE pair = substr(given.hex, 23, 2)) ||
            (SELECT byte FROM rowmq_hex WHERE pair = substr(given.hex, 25, 2)) ||
            (SELECT byte FROM rowmq_hex WHERE pair = substr(given.hex, 27, 2)) ||
            (SELECT byte FROM rowmq_hex WHERE pair = substr(given.hex, 29, 2)) ||
            (SELECT byte FROM rowmq_hex WHERE pair = substr(given.hex, 31, 2)) AS BLOB),
           q.id,
           CAST(COALESCE(NEW.payload_bytes, NEW.payload) AS BLOB),
           NEW.payload IS NULL,
           (SELECT json_group_object(key, value) FROM json_each(NEW.metadata)
            WHERE key NOT IN ('rowmq.key', 'rowmq.group', 'rowmq.priority') HAVING COUNT(*) > 0),
           COALESCE((SELECT CAST(value AS INTEGER) FROM json_each(NEW.metadata) WHERE key = 'rowmq.priority'), 0),
           (SELECT value FROM json_each(NEW.metadata) WHERE key = 'rowmq.group'),
           (SELECT value FROM json_each(NEW.metadata) WHERE key = 'rowmq.key'),
           CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER),
           CASE WHEN NEW.scheduled_for IS NOT NULL
                THEN CAST(ROUND((julianday(NEW.scheduled_for) - 2440587.5) * 86400000) * 1000 AS INTEGER)
                WHEN q.delay > 0 THEN CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER) + q.delay END
    FROM rowmq_queues q,
         (SELECT lower(COALESCE(replace(NEW.id, '-', ''),
                                printf('%012x', CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER) / 1000) || '7' || substr(hex(randomblob(2)), 2) || '8' || substr(hex(randomblob(8)), 2))) AS hex) AS given
    WHERE q.name = {queue};

    INSERT OR IGNORE INTO rowmq_groups (queue, name)
    SELECT q.id, COALESCE(m.group_name, '')
    FROM rowmq_queues q, rowmq_messages m
    WHERE q.name = {queue} AND m.seq = (SELECT MAX(seq) FROM rowmq_messages) AND (m.group_name IS NOT NULL OR q.fifo);

    INSERT INTO rowmq_pending (seq, queue, priority, visible_at, parked_until, group_id)
    SELECT m.seq, q.id, m.priority,
           CASE WHEN h.seq IS NULL THEN MAX(COALESCE(m.scheduled_for, m.created_at), m.created_at) END,
           CASE WHEN h.seq IS NOT NULL THEN MAX(COALESCE(m.scheduled_for, m.created_at), m.created_at) END,
           g.id
    FROM rowmq_messages m
    JOIN rowmq_queues q ON q.id = m.queue
    LEFT JOIN rowmq_groups g ON g.queue = q.id AND g.name = COALESCE(m.group_name, CASE WHEN q.fifo THEN '' END)
    LEFT JOIN rowmq_pending h ON h.seq = (SELECT seq FROM rowmq_pending WHERE group_id = g.id AND visible_at IS NOT NULL LIMIT 1)
    WHERE m.seq = (SELECT MAX(seq) FROM rowmq_messages);

    INSERT OR REPLACE INTO rowmq_dedup (queue, dedup_key, id, seq, expires_at)
    SELECT queue, dedup_key, id, seq, created_at + 300000000
    FROM rowmq_messages
    WHERE seq = (SELECT MAX(seq) FROM rowmq_messages) AND dedup_key IS NOT NULL;
END;
