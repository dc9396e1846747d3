-- Push to a queue in plain SQL. The metadata keys rowmq.key, rowmq.group and rowmq.priority set the dedup
-- key, the group and the priority; a message whose key had been seen is not stored.
DROP PROCEDURE IF EXISTS rowmq_publish;

CREATE PROCEDURE rowmq_publish(
    IN queue_name VARCHAR(255) CHARACTER SET utf8mb4,
    IN message_id VARCHAR(36) CHARACTER SET utf8mb4,
    IN payload LONGTEXT CHARACTER SET utf8mb4,
    IN payload_bytes LONGBLOB,
    IN metadata LONGTEXT CHARACTER SET utf8mb4,
    IN scheduled_at DATETIME(6)
)
this: BEGIN
    DECLARE kept_id, kept_delay, kept_length, kept_fifo, holder, number, due BIGINT;
    DECLARE present BIGINT DEFAULT TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(6));
    DECLARE said LONGTEXT CHARACTER SET utf8mb4 DEFAULT COALESCE(metadata, '{}');
    DECLARE dedup, grouping_name VARCHAR(255) CHARACTER SET utf8mb4;
    DECLARE urgency VARCHAR(255) CHARACTER SET utf8mb4;
    DECLARE id BINARY(16) DEFAULT UNHEX(REPLACE(COALESCE(message_id, UUID()), '-', ''));
    DECLARE parked BOOLEAN DEFAULT FALSE;

    IF (payload IS NULL) = (payload_bytes IS NULL) OR NOT JSON_VALID(COALESCE(payload, '0')) THEN
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'rowmq: give either a payload that is JSON or payload_bytes';
    END IF;
    IF NOT JSON_VALID(said) OR JSON_TYPE(said) <> 'OBJECT' THEN
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'rowmq: metadata is a JSON object of strings';
    END IF;
    IF id IS NULL THEN
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'rowmq: the id is not a UUID';
    END IF;
    SET dedup = JSON_UNQUOTE(JSON_EXTRACT(said, '$."rowmq.key"'));
    SET grouping_name = JSON_UNQUOTE(JSON_EXTRACT(said, '$."rowmq.group"'));
    SET urgency = COALESCE(JSON_UNQUOTE(JSON_EXTRACT(said, '$."rowmq.priority"')), '0');
    SET said = JSON_REMOVE(said, '$."rowmq.key"', '$."rowmq.group"', '$."rowmq.priority"');
    IF NOT urgency REGEXP '^[0-9]$' THEN
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'rowmq: the priority is a whole number from 0 to 9';
    END IF;

    SELECT q.id, q.delay, q.max_length, q.fifo INTO kept_id, kept_delay, kept_length, kept_fifo
    FROM rowmq_queues q WHERE q.name = CAST(queue_name AS BINARY);
    IF kept_id IS NULL THEN
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'rowmq: there is no such queue';
    END IF;
    IF EXISTS (SELECT 1 FROM rowmq_dedup d
               WHERE d.queue = kept_id AND d.dedup_key = CAST(dedup AS BINARY) AND d.expires_at > present) THEN
        LEAVE this;
    END IF;
    IF kept_length IS NOT NULL THEN
        SELECT q.id INTO kept_id FROM rowmq_queues q WHERE q.id = kept_id FOR UPDATE;
        IF (SELECT COUNT(*) FROM rowmq_pending p WHERE p.queue = kept_id) >= kept_length THEN
            SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'rowmq: the queue is full';
        END IF;
    END IF;
    IF grouping_name IS NOT NULL OR kept_fifo THEN
        INSERT INTO rowmq_groups (queue, name) VALUES (kept_id, CAST(COALESCE(grouping_name, '') AS BINARY))
        ON DUPLICATE KEY UPDATE name = VALUES(name);
        SELECT g.id INTO holder FROM rowmq_groups g
        WHERE g.queue = kept_id AND g.name = CAST(COALESCE(grouping_name, '') AS BINARY) FOR UPDATE;
        SET parked = EXISTS (SELECT 1 FROM rowmq_pending p WHERE p.group_id = holder AND p.visible_at IS NOT NULL);
    END IF;

    SET due = CASE WHEN scheduled_at IS NOT NULL THEN TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', scheduled_at)
                   WHEN kept_delay > 0 THEN present + kept_delay END;
    INSERT INTO rowmq_messages (id, queue, body, `binary`, metadata, priority, group_name, dedup_key, created_at, scheduled_for)
    VALUES (id, kept_id, COALESCE(payload_bytes, CAST(payload AS BINARY)), payload IS NULL, NULLIF(said, '{}'),
            CAST(urgency AS SIGNED), CAST(grouping_name AS BINARY), CAST(dedup AS BINARY), present, due);
    SET number = LAST_INSERT_ID();
    SET due = GREATEST(COALESCE(due, present), present);
    INSERT INTO rowmq_pending (seq, queue, priority, visible_at, parked_until, group_id)
    VALUES (number, kept_id, CAST(urgency AS SIGNED), IF(parked, NULL, due), IF(parked, due, NULL), holder);
    IF dedup IS NOT NULL THEN
        REPLACE INTO rowmq_dedup (queue, dedup_key, id, seq, expires_at)
        VALUES (kept_id, CAST(dedup AS BINARY), id, number, present + 300000000);
    END IF;
END;
