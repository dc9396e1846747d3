-- What each connection has for itself: a row that is put into one of these views is a whole push, claim or ack, in one step
-- of SQLite. A thread that takes many steps must ask for the interpreter after each, and a busy worker's others keep it for a
-- while every time.

-- Where the last push went: none, if there was no such queue or its rules take more than this.
CREATE TEMP TABLE rowmq_pushed (queue, first);

CREATE TEMP VIEW rowmq_push AS SELECT NULL AS name, NULL AS ids, NULL AS bodies, NULL AS places, NULL AS now;

-- Messages as insert_alike has them.
CREATE TEMP TRIGGER rowmq_push_insert INSTEAD OF INSERT ON rowmq_push
BEGIN
    DELETE FROM rowmq_pushed;
    INSERT INTO rowmq_pushed
    SELECT id, 1 + COALESCE((SELECT seq FROM sqlite_sequence WHERE name = 'rowmq_messages'), 0)
    FROM rowmq_queues WHERE name = NEW.name AND delay = 0 AND NOT fifo AND max_length IS NULL;
    INSERT INTO rowmq_messages (seq, id, queue, body, binary, priority, created_at)
    SELECT p.first + key, substr(NEW.ids, 16 * key + 1, 16), p.queue,
           substr(NEW.bodies, (value >> 29) + 1, (value >> 5) & 16777215), value & 1, (value >> 1) & 15, NEW.now
    FROM rowmq_pushed p CROSS JOIN json_each(NEW.places);
    INSERT INTO rowmq_pending (seq, queue, priority, visible_at)
    SELECT p.first + key, p.queue, (value >> 1) & 15, NEW.now FROM rowmq_pushed p CROSS JOIN json_each(NEW.places);
END;

-- What the last claim found, in one row; none, if the queue has rules. Ids and bodies stand one behind the other, the longest
-- bodies apart. Text in UTF-16 could not hold them. Of columns that are nearly always the same (USUAL in sql/usual.py, in that order)
-- only the rows that differ are there.
CREATE TEMP TABLE rowmq_claimed (max_attempts, lease, vanished, tried, longest, seqs, created, lengths, unusual, ids, bodies);

CREATE TEMP VIEW rowmq_claim AS
SELECT NULL AS queue, NULL AS name, NULL AS now, NULL AS lease, NULL AS token, NULL AS consumer, NULL AS most, NULL AS longest;

-- Nothing is leased if a rule could forbid it: something was tried often enough, or its last holder vanished.
CREATE TEMP TRIGGER rowmq_claim_insert INSTEAD OF INSERT ON rowmq_claim
BEGIN
    DELETE FROM rowmq_claimed;
    INSERT INTO rowmq_claimed
    SELECT q.max_attempts, COALESCE(NEW.lease, q.lease), due.*
    FROM rowmq_queues q
    CROSS JOIN (
        SELECT COUNT(p.token), MAX(p.attempts), MAX(length(m.body)), json_group_array(p.seq), json_group_array(m.created_at),
               json_group_array(COALESCE(length(m.body), 0)),
               json_group_array(json_array(p.seq, p.visible_at, p.priority, p.attempts, p.receives, p.deadline, p.source,
                                           m.group_name, m.binary, m.metadata))
                   FILTER (WHERE p.priority OR p.visible_at <> m.created_at OR p.attempts OR p.receives OR m.binary
                                 OR COALESCE(p.deadline, p.source, m.group_name, m.metadata) IS NOT NULL),
               CAST(group_concat(CAST(m.id AS TEXT), '') AS BLOB),
               CAST(group_concat(CASE WHEN length(m.body) <= NEW.longest THEN CAST(m.body AS TEXT) END, '') AS BLOB)
        FROM (
            SELECT seq FROM (
            SELECT seq FROM (SELECT seq FROM rowmq_pending WHERE queue = NEW.queue AND priority = 9 AND visible_at <= NEW.now
                     ORDER BY visible_at, seq LIMIT NEW.most)
            UNION ALL SELECT seq FROM (SELECT seq FROM rowmq_pending WHERE queue = NEW.queue AND priority = 8 AND visible_at <= NEW.now
                     ORDER BY visible_at, seq LIMIT NEW.most)
            UNION ALL SELECT seq FROM (SELECT seq FROM rowmq_pending WHERE queue = NEW.queue AND priority = 7 AND visible_at <= NEW.now
                     ORDER BY visible_at, seq LIMIT NEW.most)
            UNION ALL SELECT seq FROM (SELECT seq FROM rowmq_pending WHERE queue = NEW.queue AND priority = 6 AND visible_at <= NEW.now
                     ORDER BY visible_at, seq LIMIT NEW.most)
            UNION ALL SELECT seq FROM (SELECT seq FROM rowmq_pending WHERE queue = NEW.queue AND priority = 5 AND visible_at <= NEW.now
                     ORDER BY visible_at, seq LIMIT NEW.most)
            UNION ALL SELECT seq FROM (SELECT seq FROM rowmq_pending WHERE queue = NEW.queue AND priority = 4 AND visible_at <= NEW.now
                     ORDER BY visible_at, seq LIMIT NEW.most)
            UNION ALL SELECT seq FROM (SELECT seq FROM rowmq_pending WHERE queue = NEW.queue AND priority = 3 AND visible_at <= NEW.now
                     ORDER BY visible_at, seq LIMIT NEW.most)
            UNION ALL SELECT seq FROM (SELECT seq FROM rowmq_pending WHERE queue = NEW.queue AND priority = 2 AND visible_at <= NEW.now
                     ORDER BY visible_at, seq LIMIT NEW.most)
            UNION ALL SELECT seq FROM (SELECT seq FROM rowmq_pending WHERE queue = NEW.queue AND priority = 1 AND visible_at <= NEW.now
                     ORDER BY visible_at, seq LIMIT NEW.most)
            UNION ALL SELECT seq FROM (SELECT seq FROM rowmq_pending WHERE queue = NEW.queue AND priority = 0 AND visible_at <= NEW.now
                     ORDER BY visible_at, seq LIMIT NEW.most)
            ) LIMIT NEW.most
        ) AS due
        CROSS JOIN rowmq_pending p ON p.seq = due.seq
        CROSS JOIN rowmq_messages m ON m.seq = due.seq
    ) AS due
    WHERE q.id = NEW.queue AND q.name = NEW.name AND NOT q.paused AND q.rate_limit IS NULL AND q.max_age IS NULL
      AND q.delivery = 'at_least_once' AND (SELECT encoding FROM pragma_encoding) = 'UTF-8';
    UPDATE rowmq_pending
    SET token = NEW.token, attempts = attempts + 1, receives = receives + 1, consumer = NEW.consumer, claimed_at = NEW.now,
        visible_at = (SELECT CASE WHEN deadline > NEW.now AND deadline < NEW.now + c.lease THEN deadline
                                  ELSE NEW.now + c.lease END
                      FROM rowmq_claimed c)
    WHERE seq IN (SELECT one.value FROM rowmq_claimed c CROSS JOIN json_each(c.seqs) AS one
                  WHERE c.vanished = 0 AND (c.max_attempts IS NULL OR c.tried < c.max_attempts));
END;

CREATE TEMP VIEW rowmq_ack AS SELECT NULL AS seqs, NULL AS tokens, NULL AS count, NULL AS now;

-- Receipts with their tokens, 16 bytes each, one behind the other. All are of plain messages still held by them, or nothing is
-- done: groups, fifo queues and queues that drop their payloads need more than this.
CREATE TEMP TRIGGER rowmq_ack_insert INSTEAD OF INSERT ON rowmq_ack
BEGIN
    SELECT RAISE(IGNORE) WHERE NEW.count <> (
        SELECT COUNT(*)
        FROM json_each(NEW.seqs) AS asked CROSS JOIN rowmq_pending p ON p.seq = asked.value
        WHERE p.token = substr(NEW.tokens, 16 * asked.key + 1, 16) AND p.group_id IS NULL
          AND p.queue NOT IN (SELECT id FROM rowmq_queues WHERE retention = 0 OR fifo));
    INSERT INTO rowmq_outcomes (seq, queue, state, finished_at, attempts, receives, token, consumer, started_at, source)
    SELECT seq, queue, 'done', NEW.now, attempts, receives, token, consumer, claimed_at, source
    FROM rowmq_pending WHERE seq IN (SELECT value FROM json_each(NEW.seqs));
    DELETE FROM rowmq_pending WHERE seq IN (SELECT value FROM json_each(NEW.seqs));
END;
