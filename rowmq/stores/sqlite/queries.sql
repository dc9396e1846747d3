-- Every statement of the SQLite store, by name, in the order of the protocol. Parameters are :named; a list
-- arrives as a JSON array. The same names, with the same result columns, are in every dialect's file.

-- name: clock
SELECT CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER);

-- name: migrations_make
CREATE TABLE IF NOT EXISTS rowmq_migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL);

-- name: migrations_done
SELECT number FROM rowmq_migrations;

-- name: migrations_add
INSERT INTO rowmq_migrations (number, name) VALUES (:number, :name);

-- name: synchronous
PRAGMA synchronous;

-- Queues by name and by key ---------------------------------------------------------------------------

-- name: queues_by_name
SELECT q.id, q.name, q.max_attempts, q.lease, q.delay, q.backoff_first, q.backoff_factor, q.backoff_cap, q.backoff_jitter,
       q.delivery, q.fifo, q.retention, q.max_age, q.dead_letter, d.name, q.paused, q.max_length, q.archive, q.tags,
       q.rate_limit, q.rate_period, :now
FROM rowmq_queues q LEFT JOIN rowmq_queues d ON d.id = q.dead_letter
WHERE q.name IN (SELECT value FROM json_each(:names));

-- name: queues_by_id
SELECT q.id, q.name, q.max_attempts, q.lease, q.delay, q.backoff_first, q.backoff_factor, q.backoff_cap, q.backoff_jitter,
       q.delivery, q.fifo, q.retention, q.max_age, q.dead_letter, d.name, q.paused, q.max_length, q.archive, q.tags,
       q.rate_limit, q.rate_period, :now
FROM rowmq_queues q LEFT JOIN rowmq_queues d ON d.id = q.dead_letter
WHERE q.id IN (SELECT value FROM json_each(:ids));

-- name: queues_all
SELECT q.id, q.name, q.max_attempts, q.lease, q.delay, q.backoff_first, q.backoff_factor, q.backoff_cap, q.backoff_jitter,
       q.delivery, q.fifo, q.retention, q.max_age, q.dead_letter, d.name, q.paused, q.max_length, q.archive, q.tags,
       q.rate_limit, q.rate_period, :now
FROM rowmq_queues q LEFT JOIN rowmq_queues d ON d.id = q.dead_letter;

-- Push --------------------------------------------------------------------------------------------------

-- name: last_seq
SELECT seq FROM sqlite_sequence WHERE name = 'rowmq_messages';

-- name: insert_message
INSERT INTO rowmq_messages (seq, id, queue, body, binary, metadata, priority, group_name, dedup_key, created_at, scheduled_for, deadline)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: insert_pending
INSERT INTO rowmq_pending (seq, queue, priority, visible_at, parked_until, group_id, deadline)
VALUES (?, ?, ?, ?, ?, ?, ?);

-- A whole push of messages that are due as they come, by the name of their queue (at_once.sql).
-- name: insert_at_once
INSERT INTO rowmq_push (name, ids, bodies, places, now) VALUES (:name, :ids, :bodies, :places, :now);

-- name: inserted_at_once
SELECT queue, first FROM rowmq_pushed;

-- Messages that differ in little: ids and bodies stand one behind the other, and a number says where a body starts (its upper
-- bits), how long it is (24 bits), the priority (4 bits) and whether it is binary (1 bit).
-- name: insert_alike
INSERT INTO rowmq_messages (seq, id, queue, body, binary, priority, created_at)
SELECT :first + key, substr(:ids, 16 * key + 1, 16), :queue, substr(:bodies, (value >> 29) + 1, (value >> 5) & 16777215), value & 1,
       (value >> 1) & 15, :now
FROM json_each(:places);

-- name: insert_alike_pending
INSERT INTO rowmq_pending (seq, queue, priority, visible_at)
SELECT :first + key, :queue, (value >> 1) & 15, :now FROM json_each(:places);

-- name: messages_by_id
SELECT id, seq, queue, body, binary, metadata FROM rowmq_messages
WHERE id IN (SELECT rowmq_blob(value) FROM json_each(:ids));

-- name: dedup_find
SELECT dedup_key, id, seq FROM rowmq_dedup
WHERE queue = :queue AND dedup_key IN (SELECT value FROM json_each(:keys)) AND expires_at > :now;

-- name: dedup_clear
DELETE FROM rowmq_dedup WHERE queue = :queue AND dedup_key IN (SELECT value FROM json_each(:keys)) AND expires_at <= :now;

-- name: dedup_put
INSERT INTO rowmq_dedup (queue, dedup_key, id, seq, expires_at) VALUES (:queue, :key, :id, :seq, :expires_at);

-- name: queue_lock
SELECT id FROM rowmq_queues WHERE id = :queue;

-- name: queue_length
SELECT COUNT(*) FROM (SELECT 1 FROM rowmq_pending WHERE queue = :queue LIMIT :limit);

-- name: group_make
INSERT OR IGNORE INTO rowmq_groups (queue, name) VALUES (:queue, :name);

-- name: group_find
SELECT id, name FROM rowmq_groups WHERE queue = :queue AND name IN (SELECT value FROM json_each(:names));

-- name: group_lock
SELECT id FROM rowmq_groups WHERE id IN (SELECT value FROM json_each(:groups));

-- name: group_heads
SELECT value FROM json_each(:groups) AS g
WHERE EXISTS (SELECT 1 FROM rowmq_pending WHERE group_id = g.value AND visible_at IS NOT NULL);

-- name: group_heirs
SELECT (SELECT seq FROM rowmq_pending WHERE group_id = g.value AND visible_at IS NULL ORDER BY seq LIMIT 1)
FROM json_each(:groups) AS g
WHERE NOT EXISTS (SELECT 1 FROM rowmq_pending WHERE group_id = g.value AND visible_at IS NOT NULL);

-- name: unpark
UPDATE rowmq_pending SET visible_at = MAX(parked_until, :now), parked_until = NULL WHERE seq IN (SELECT value FROM json_each(:seqs));

-- Claim -------------------------------------------------------------------------------------------------

-- One range of the index for each priority. Asking for all at once by time would walk over everything
-- that is scheduled for later.
-- name: pick
SELECT p.seq, p.queue, p.priority, p.visible_at, p.parked_until, p.group_id, p.attempts, p.receives, p.token, p.consumer,
       p.claimed_at, p.deadline, p.source, m.created_at, m.group_name,
       m.id, m.body, m.binary, m.metadata
FROM (
    SELECT seq FROM (
    SELECT seq FROM (SELECT seq FROM rowmq_pending WHERE queue = :queue AND priority = 9 AND visible_at <= :now
                     ORDER BY visible_at, seq LIMIT :limit)
    UNION ALL SELECT seq FROM (SELECT seq FROM rowmq_pending WHERE queue = :queue AND priority = 8 AND visible_at <= :now
                     ORDER BY visible_at, seq LIMIT :limit)
    UNION ALL SELECT seq FROM (SELECT seq FROM rowmq_pending WHERE queue = :queue AND priority = 7 AND visible_at <= :now
                     ORDER BY visible_at, seq LIMIT :limit)
    UNION ALL SELECT seq FROM (SELECT seq FROM rowmq_pending WHERE queue = :queue AND priority = 6 AND visible_at <= :now
                     ORDER BY visible_at, seq LIMIT :limit)
    UNION ALL SELECT seq FROM (SELECT seq FROM rowmq_pending WHERE queue = :queue AND priority = 5 AND visible_at <= :now
                     ORDER BY visible_at, seq LIMIT :limit)
    UNION ALL SELECT seq FROM (SELECT seq FROM rowmq_pending WHERE queue = :queue AND priority = 4 AND visible_at <= :now
                     ORDER BY visible_at, seq LIMIT :limit)
    UNION ALL SELECT seq FROM (SELECT seq FROM rowmq_pending WHERE queue = :queue AND priority = 3 AND visible_at <= :now
                     ORDER BY visible_at, seq LIMIT :limit)
    UNION ALL SELECT seq FROM (SELECT seq FROM rowmq_pending WHERE queue = :queue AND priority = 2 AND visible_at <= :now
                     ORDER BY visible_at, seq LIMIT :limit)
    UNION ALL SELECT seq FROM (SELECT seq FROM rowmq_pending WHERE queue = :queue AND priority = 1 AND visible_at <= :now
                     ORDER BY visible_at, seq LIMIT :limit)
    UNION ALL SELECT seq FROM (SELECT seq FROM rowmq_pending WHERE queue = :queue AND priority = 0 AND visible_at <= :now
                     ORDER BY visible_at, seq LIMIT :limit)
    ) LIMIT :limit
) AS due
CROSS JOIN rowmq_pending p ON p.seq = due.seq
CROSS JOIN rowmq_messages m ON m.seq = due.seq;

-- name: claim_at_once
INSERT INTO rowmq_claim (queue, name, now, lease, token, consumer, most, longest)
VALUES (:queue, :name, :now, :lease, :token, :consumer, :most, :longest);

-- name: claimed_at_once
SELECT max_attempts, lease, vanished, tried, longest, seqs, created, lengths, unusual, ids, bodies FROM rowmq_claimed;

-- name: long_bodies
SELECT seq, body FROM rowmq_messages WHERE seq IN (SELECT value FROM json_each(:seqs)) AND length(body) > :longest;

-- name: take
UPDATE rowmq_pending
SET token = :token, attempts = attempts + 1, receives = receives + 1, consumer = :consumer, claimed_at = :now,
    visible_at = CASE WHEN visible_at IS NULL THEN NULL
                      WHEN deadline > :now AND deadline < :until THEN deadline ELSE :until END,
    parked_until = CASE WHEN visible_at IS NOT NULL THEN NULL
                        WHEN deadline > :now AND deadline < :until THEN deadline ELSE :until END
WHERE seq IN (SELECT value FROM json_each(:seqs));

-- name: priorities
WITH RECURSIVE present (priority) AS (
    SELECT MAX(priority) FROM rowmq_pending WHERE queue = :queue
    UNION ALL
    SELECT (SELECT MAX(priority) FROM rowmq_pending WHERE queue = :queue AND priority < present.priority)
    FROM present WHERE present.priority IS NOT NULL
)
SELECT priority FROM present WHERE priority IS NOT NULL;

-- name: candidates
SELECT due.seq
FROM (
    SELECT seq, visible_at FROM rowmq_pending
    WHERE queue = :queue AND priority = :priority AND visible_at >= :time AND visible_at <= :now
      AND (visible_at, seq) > (:time, :seq)
    ORDER BY visible_at, seq LIMIT :look
) AS due
CROSS JOIN rowmq_messages m ON m.seq = due.seq
WHERE 1 = 1 /*and*/
ORDER BY due.visible_at, due.seq LIMIT :limit;

-- name: candidates_end
SELECT visible_at, seq FROM rowmq_pending
WHERE queue = :queue AND priority = :priority AND visible_at >= :time AND visible_at <= :now
  AND (visible_at, seq) > (:time, :seq)
ORDER BY visible_at, seq LIMIT 1 OFFSET :skip;

-- name: lock
SELECT p.seq, p.queue, p.priority, p.visible_at, p.parked_until, p.group_id, p.attempts, p.receives, p.token, p.consumer,
       p.claimed_at, p.deadline, p.source, m.created_at, m.group_name,
       m.id, m.body, m.binary, m.metadata
FROM rowmq_pending p JOIN rowmq_messages m ON m.seq = p.seq
WHERE p.seq IN (SELECT value FROM json_each(:seqs)) AND p.visible_at <= :now;

-- name: next_parked
SELECT p.seq, p.queue, p.priority, p.visible_at, p.parked_until, p.group_id, p.attempts, p.receives, p.token, p.consumer,
       p.claimed_at, p.deadline, p.source, m.created_at, m.group_name,
       m.id, m.body, m.binary, m.metadata
FROM rowmq_pending p JOIN rowmq_messages m ON m.seq = p.seq
WHERE p.group_id = :group AND p.visible_at IS NULL AND p.seq > :after
ORDER BY p.seq LIMIT :limit;

-- name: rate_lock
SELECT room, at FROM rowmq_rates WHERE queue = :queue;

-- name: rate_make
INSERT INTO rowmq_rates (queue, room, at) VALUES (:queue, :room, :at);

-- name: rate_set
UPDATE rowmq_rates SET room = :room, at = :at WHERE queue = :queue;

-- name: claim_find
SELECT queue, token, runs, seqs FROM rowmq_claims WHERE name = :name;

-- name: claim_lock
SELECT queue, token, runs, seqs FROM rowmq_claims WHERE name = :name;

-- name: claim_put
INSERT INTO rowmq_claims (name, queue, token, runs, created_at, seqs) VALUES (:name, :queue, :token, 1, :now, :seqs);

-- name: claim_adopt
UPDATE rowmq_claims SET token = :token, runs = runs + 1 WHERE name = :name;

-- name: readdress
UPDATE rowmq_pending SET token = :token WHERE seq IN (SELECT value FROM json_each(:seqs)) AND token = :old;

-- name: held_by
SELECT p.seq, p.queue, p.priority, p.visible_at, p.parked_until, p.group_id, p.attempts, p.receives, p.token, p.consumer,
       p.claimed_at, p.deadline, p.source, m.created_at, m.group_name,
       m.id, m.body, m.binary, m.metadata
FROM rowmq_pending p JOIN rowmq_messages m ON m.seq = p.seq
WHERE p.seq IN (SELECT value FROM json_each(:seqs)) AND p.token = :token;

-- Extend and settle -------------------------------------------------------------------------------------

-- name: hold
SELECT p.seq, p.queue, p.priority, p.visible_at, p.parked_until, p.group_id, p.attempts, p.receives, p.token, p.consumer,
       p.claimed_at, p.deadline, p.source, m.created_at, m.group_name
FROM rowmq_pending p JOIN rowmq_messages m ON m.seq = p.seq
WHERE p.seq IN (SELECT value FROM json_each(:seqs))
ORDER BY p.seq;

-- name: renew
UPDATE rowmq_pending
SET visible_at = CASE WHEN visible_at IS NULL THEN NULL ELSE :until END,
    parked_until = CASE WHEN visible_at IS NULL THEN :until ELSE NULL END
WHERE seq IN (SELECT value FROM json_each(:seqs));

-- Groups, fifo queues and queues that drop their payloads need more than this: they are left to the slower way.
-- name: ack_hold
SELECT seq, token FROM rowmq_pending
WHERE seq IN (SELECT value FROM json_each(:seqs)) AND group_id IS NULL
  AND queue NOT IN (SELECT id FROM rowmq_queues WHERE retention = 0 OR fifo);

-- name: ack_at_once
INSERT INTO rowmq_ack (seqs, tokens, count, now) VALUES (:seqs, :tokens, :count, :now);

-- name: finish
INSERT INTO rowmq_outcomes (seq, queue, state, reason, finished_at, attempts, receives, token, consumer, started_at, source)
SELECT seq, queue, :state, :reason, :now, attempts, receives, token, consumer, claimed_at, source
FROM rowmq_pending WHERE seq IN (SELECT value FROM json_each(:seqs));

-- name: keep_result
UPDATE rowmq_outcomes SET result = :result WHERE seq = :seq;

-- name: unpend
DELETE FROM rowmq_pending WHERE seq IN (SELECT value FROM json_each(:seqs));

-- name: forget
UPDATE rowmq_messages SET body = NULL WHERE seq IN (SELECT value FROM json_each(:seqs));

-- name: postpone
UPDATE rowmq_pending
SET visible_at = CASE WHEN visible_at IS NULL THEN NULL ELSE :at END,
    parked_until = CASE WHEN visible_at IS NULL THEN :at ELSE NULL END,
    attempts = attempts - :refund, token = NULL, consumer = NULL, claimed_at = NULL
WHERE seq IN (SELECT value FROM json_each(:seqs));

-- name: move
UPDATE rowmq_pending
SET queue = :queue, visible_at = :now, parked_until = NULL, group_id = NULL, attempts = 0, token = NULL, consumer = NULL,
    claimed_at = NULL, source = :source, reason = :reason
WHERE seq IN (SELECT value FROM json_each(:seqs));

-- name: move_into_group
UPDATE rowmq_pending
SET queue = :queue, visible_at = CASE WHEN :parked THEN NULL ELSE :now END, parked_until = CASE WHEN :parked THEN :now END,
    group_id = :group_id, attempts = 0, token = NULL, consumer = NULL, claimed_at = NULL, source = :source, reason = :reason
WHERE seq = :seq;

-- name: fail
INSERT INTO rowmq_failures (seq, attempt, queue, consumer, started_at, ended_at, error)
VALUES (:seq, :attempt, :queue, :consumer, :started_at, :ended_at, :error);

-- name: acked_by
SELECT seq, token FROM rowmq_outcomes WHERE seq IN (SELECT value FROM json_each(:seqs)) AND state = 'done';

-- Queues ------------------------------------------------------------------------------------------------

-- name: queue_insert
INSERT INTO rowmq_queues (name, max_attempts, lease, delay, backoff_first, backoff_factor, backoff_cap, backoff_jitter, delivery,
    fifo, retention, max_age, dead_letter, paused, max_length, archive, tags, rate_limit, rate_period,
    created_at, updated_at)
VALUES (:name, :max_attempts, :lease, :delay, :backoff_first, :backoff_factor, :backoff_cap, :backoff_jitter, :delivery,
    :fifo, :retention, :max_age, :dead_letter, :paused, :max_length, :archive, :tags, :rate_limit, :rate_period,
    :now, :now);

-- name: queue_update
UPDATE rowmq_queues
SET max_attempts = :max_attempts, lease = :lease, delay = :delay, backoff_first = :backoff_first,
    backoff_factor = :backoff_factor, backoff_cap = :backoff_cap, backoff_jitter = :backoff_jitter, delivery = :delivery,
    fifo = :fifo, retention = :retention, max_age = :max_age, dead_letter = :dead_letter, paused = :paused,
    max_length = :max_length, archive = :archive, tags = :tags, rate_limit = :rate_limit, rate_period = :rate_period,
    updated_at = :now
WHERE name = :name;

-- name: queue_sources
SELECT name FROM rowmq_queues WHERE dead_letter = :queue;

-- name: seqs_of_queue
SELECT seq FROM rowmq_pending WHERE queue = :queue
UNION ALL
SELECT seq FROM rowmq_outcomes WHERE queue = :queue
LIMIT :limit;

-- name: erase_pending
DELETE FROM rowmq_pending WHERE seq IN (SELECT value FROM json_each(:seqs));

-- name: erase_outcomes
DELETE FROM rowmq_outcomes WHERE seq IN (SELECT value FROM json_each(:seqs));

-- name: erase_failures
DELETE FROM rowmq_failures WHERE seq IN (SELECT value FROM json_each(:seqs));

-- name: erase_messages
DELETE FROM rowmq_messages WHERE seq IN (SELECT value FROM json_each(:seqs));

-- name: ledger_add
INSERT INTO rowmq_ledger (at, queue, action, count, first_seq, last_seq)
VALUES (:at, :queue, :action, :count, :first_seq, :last_seq);

-- name: drop_schedules
DELETE FROM rowmq_schedules WHERE queue = :queue;

-- name: drop_consumers
DELETE FROM rowmq_consumers WHERE queue = :queue;

-- name: drop_dedup
DELETE FROM rowmq_dedup WHERE queue = :queue;

-- name: drop_groups
DELETE FROM rowmq_groups WHERE queue = :queue;

-- name: drop_claims
DELETE FROM rowmq_claims WHERE queue = :queue;

-- name: drop_rates
DELETE FROM rowmq_rates WHERE queue = :queue;

-- name: drop_samples
DELETE FROM rowmq_samples WHERE queue = :queue;

-- name: queue_delete
DELETE FROM rowmq_queues WHERE id = :queue;

-- name: purge_pending
SELECT p.seq, p.group_id
FROM rowmq_pending p JOIN rowmq_messages m ON m.seq = p.seq
WHERE p.queue = :queue /*and*/
LIMIT :limit;

-- name: purge_finished
SELECT o.seq, NULL
FROM rowmq_outcomes o JOIN rowmq_messages m ON m.seq = o.seq
WHERE o.queue = :queue AND o.state = :state /*and*/
LIMIT :limit;

-- name: count_pending
SELECT SUM(time <= :now), SUM(time > :now AND token IS NULL), SUM(time > :now AND token IS NOT NULL),
       MIN(CASE WHEN time <= :now THEN time END)
FROM (SELECT COALESCE(visible_at, parked_until) AS time, token FROM rowmq_pending WHERE queue = :queue);

-- name: count_finished
SELECT state, COUNT(*) FROM rowmq_outcomes WHERE queue = :queue GROUP BY state;

-- Topics ------------------------------------------------------------------------------------------------

-- name: topic_find
SELECT id, bound_at FROM rowmq_topics WHERE name = :name;

-- name: topic_make
INSERT OR IGNORE INTO rowmq_topics (name) VALUES (:name);

-- name: topic_alone
SELECT :topic;

-- name: topic_share
SELECT :topic;

-- name: topic_bound
UPDATE rowmq_topics SET bound_at = :at WHERE id = :topic;

-- name: topic_queues
SELECT q.name FROM rowmq_bindings b JOIN rowmq_queues q ON q.id = b.queue WHERE b.topic = :topic;

-- name: topics_over
SELECT t.name FROM rowmq_topics t JOIN rowmq_queues q ON q.name = :prefix || t.name
WHERE t.bound_at < :before AND EXISTS (SELECT 1 FROM rowmq_pending WHERE queue = q.id);

-- name: bind
INSERT INTO rowmq_bindings (topic, queue) VALUES (:topic, :queue);

-- name: unbind
DELETE FROM rowmq_bindings WHERE topic = :topic AND queue = (SELECT id FROM rowmq_queues WHERE name = :queue);

-- name: bindings
SELECT t.name, q.name
FROM rowmq_bindings b JOIN rowmq_topics t ON t.id = b.topic JOIN rowmq_queues q ON q.id = b.queue;

-- name: backlog
SELECT m.seq, m.id, m.body, m.binary, m.metadata, m.priority, m.group_name, m.dedup_key, m.scheduled_for, m.deadline
FROM rowmq_pending p JOIN rowmq_messages m ON m.seq = p.seq
WHERE p.queue = :queue AND p.seq > :after
ORDER BY p.seq LIMIT :limit;

-- Consumers ---------------------------------------------------------------------------------------------

-- name: consumers_forget
DELETE FROM rowmq_consumers WHERE queue = :queue AND alive_until <= :now;

-- name: consumer_beat
UPDATE rowmq_consumers SET alive_until = :alive_until WHERE queue = :queue AND name = :name;

-- name: consumer_join
INSERT INTO rowmq_consumers (queue, name, born_at, alive_until) VALUES (:queue, :name, :now, :alive_until);

-- name: consumers_alive
SELECT id, name, born_at, alive_until FROM rowmq_consumers WHERE queue = :queue AND alive_until > :now ORDER BY id;

-- name: consumer_retire
DELETE FROM rowmq_consumers WHERE name = :name AND queue = (SELECT id FROM rowmq_queues WHERE name = :queue);

-- name: consumers_list
SELECT q.name, c.name, c.born_at, c.alive_until
FROM rowmq_consumers c JOIN rowmq_queues q ON q.id = c.queue
WHERE c.alive_until > :now ORDER BY q.name, c.id;

-- name: lead_lock
SELECT holder, until FROM rowmq_leads WHERE name = :name;

-- name: lead_make
INSERT INTO rowmq_leads (name, holder, until) VALUES (:name, :holder, :until);

-- name: lead_take
UPDATE rowmq_leads SET holder = :holder, until = :until WHERE name = :name;

-- Schedules ---------------------------------------------------------------------------------------------

-- name: schedule_put
INSERT INTO rowmq_schedules (name, queue, spec, message, next_at, paused)
VALUES (:name, :queue, :spec, :message, :next_at, :paused);

-- name: schedules_list
SELECT s.name, q.name, s.spec, s.message, s.next_at, s.paused
FROM rowmq_schedules s JOIN rowmq_queues q ON q.id = s.queue;

-- name: schedule_drop
DELETE FROM rowmq_schedules WHERE name = :name;

-- name: schedule_advance
UPDATE rowmq_schedules SET next_at = :following WHERE name = :name AND next_at = :tick AND NOT paused;

-- name: schedule_find
SELECT q.name, s.message FROM rowmq_schedules s JOIN rowmq_queues q ON q.id = s.queue WHERE s.name = :name;

-- History -----------------------------------------------------------------------------------------------

-- name: find_pending
SELECT m.seq, m.id, q.name, NULL, m.body, m.binary, m.metadata, m.priority, m.group_name, m.dedup_key, m.created_at,
       m.scheduled_for, m.deadline, COALESCE(p.visible_at, p.parked_until), p.token IS NOT NULL, p.attempts, p.receives,
       p.consumer, p.claimed_at, NULL, p.reason, p.source, NULL
FROM rowmq_pending p JOIN rowmq_messages m ON m.seq = p.seq JOIN rowmq_queues q ON q.id = p.queue
WHERE 1 = 1 /*and*/
ORDER BY m.seq LIMIT :limit;

-- name: find_finished
SELECT m.seq, m.id, q.name, o.state, m.body, m.binary, m.metadata, m.priority, m.group_name, m.dedup_key, m.created_at,
       m.scheduled_for, m.deadline, NULL, NULL, o.attempts, o.receives, o.consumer, o.started_at, o.finished_at, o.reason, o.source,
       o.result
FROM rowmq_outcomes o JOIN rowmq_messages m ON m.seq = o.seq JOIN rowmq_queues q ON q.id = o.queue
WHERE 1 = 1 /*and*/
ORDER BY m.seq LIMIT :limit;

-- name: failures
SELECT attempt, queue, consumer, started_at, ended_at, error FROM rowmq_failures WHERE seq = :seq ORDER BY id;

-- name: dead_of_queue
SELECT seq FROM rowmq_outcomes WHERE queue = :queue AND state = 'dead' AND seq > :after ORDER BY seq LIMIT :limit;

-- name: lettered_of_queue
SELECT p.seq, p.source FROM rowmq_pending p
WHERE p.queue = :queue AND p.source IS NOT NULL AND p.seq > :after /*and*/
ORDER BY p.seq LIMIT :limit;

-- name: dead_among
SELECT seq, queue FROM rowmq_outcomes WHERE seq IN (SELECT value FROM json_each(:seqs)) AND state = 'dead';

-- name: finished_of
SELECT seq, queue, finished_at FROM rowmq_outcomes WHERE seq IN (SELECT value FROM json_each(:seqs));

-- name: revive
INSERT INTO rowmq_pending (seq, queue, priority, visible_at, receives, deadline)
SELECT o.seq, :queue, m.priority, :now, o.receives, m.deadline
FROM rowmq_outcomes o JOIN rowmq_messages m ON m.seq = o.seq
WHERE o.seq IN (SELECT value FROM json_each(:seqs)) AND o.state = 'dead';

-- name: unfinish
DELETE FROM rowmq_outcomes WHERE seq IN (SELECT value FROM json_each(:seqs)) AND state = 'dead';

-- name: reset
UPDATE rowmq_pending
SET visible_at = CASE WHEN visible_at IS NULL THEN NULL ELSE :now END,
    parked_until = CASE WHEN visible_at IS NULL THEN :now ELSE NULL END,
    attempts = 0, token = NULL, consumer = NULL, claimed_at = NULL
WHERE seq IN (SELECT value FROM json_each(:seqs));

-- name: unletter
UPDATE rowmq_pending SET source = NULL, reason = NULL WHERE seq IN (SELECT value FROM json_each(:seqs));

-- name: bounds
SELECT (SELECT MIN(seq) FROM rowmq_messages), (SELECT MAX(seq) FROM rowmq_messages);

-- name: mark_archived
UPDATE rowmq_outcomes SET archived_at = :now WHERE seq IN (SELECT value FROM json_each(:seqs)) AND archived_at IS NULL;

-- name: ledger
SELECT at, queue, action, count, first_seq, last_seq FROM rowmq_ledger ORDER BY id;

-- Sweep -------------------------------------------------------------------------------------------------

-- The queues in which something may be overdue by the strictest rules of any: one walk over all that waits, in
-- the order in which it is stored.
-- name: sweep_queues
SELECT p.queue FROM rowmq_pending p NOT INDEXED
WHERE p.visible_at <= :now AND (p.attempts >= :most OR (:final AND p.token IS NOT NULL))
UNION
SELECT p.queue FROM rowmq_pending p NOT INDEXED CROSS JOIN rowmq_messages m ON m.seq = p.seq
WHERE (:final OR :oldest >= 0) AND (p.token IS NULL OR COALESCE(p.visible_at, p.parked_until) <= :now)
  AND ((:final AND p.deadline <= :now) OR m.created_at <= :oldest);

-- A live lease is left alone; age and deadline do not wait for anything else.
-- name: sweep_overdue
SELECT p.seq, p.queue, p.priority, p.visible_at, p.parked_until, p.group_id, p.attempts, p.receives, p.token, p.consumer,
       p.claimed_at, p.deadline, p.source, m.created_at, m.group_name
FROM rowmq_pending p JOIN rowmq_messages m ON m.seq = p.seq
WHERE p.seq IN (
    SELECT seq FROM rowmq_pending
    WHERE queue = :queue AND visible_at <= :now AND (attempts >= :most OR (:final AND token IS NOT NULL))
    UNION ALL
    SELECT p.seq FROM rowmq_pending p CROSS JOIN rowmq_messages m ON m.seq = p.seq
    WHERE (:final OR :oldest >= 0) AND p.queue = :queue
      AND (p.token IS NULL OR COALESCE(p.visible_at, p.parked_until) <= :now)
      AND ((:final AND p.deadline <= :now) OR m.created_at <= :oldest))
ORDER BY p.seq LIMIT :limit;

-- name: sweep_finished
SELECT seq FROM rowmq_outcomes
WHERE queue = :queue AND state IN ('done', 'dead') AND finished_at <= :before AND (archived_at IS NOT NULL OR NOT :archived)
ORDER BY finished_at LIMIT :limit;

-- name: orphan_queues
WITH RECURSIVE present (queue) AS (
    SELECT MIN(queue) FROM rowmq_pending
    UNION ALL
    SELECT (SELECT MIN(queue) FROM rowmq_pending WHERE queue > present.queue) FROM present WHERE present.queue IS NOT NULL
)
SELECT queue FROM present WHERE queue IS NOT NULL AND queue NOT IN (SELECT id FROM rowmq_queues);

-- name: sweep_dedup
DELETE FROM rowmq_dedup
WHERE (queue, dedup_key) IN (SELECT queue, dedup_key FROM rowmq_dedup WHERE expires_at <= :now LIMIT :limit);

-- name: sweep_claims
DELETE FROM rowmq_claims WHERE name IN (SELECT name FROM rowmq_claims WHERE created_at <= :before LIMIT :limit);

-- name: sweep_consumers
DELETE FROM rowmq_consumers WHERE alive_until <= :now;

-- name: sweep_leads
DELETE FROM rowmq_leads WHERE until <= :now;

-- name: sweep_groups
SELECT id FROM rowmq_groups g
WHERE NOT EXISTS (SELECT 1 FROM rowmq_pending WHERE group_id = g.id) LIMIT :limit;

-- name: sweep_groups_delete
DELETE FROM rowmq_groups
WHERE id IN (SELECT value FROM json_each(:groups)) AND NOT EXISTS (SELECT 1 FROM rowmq_pending WHERE group_id = rowmq_groups.id);

-- Stages ------------------------------------------------------------------------------------------------

-- name: stage_put
INSERT INTO rowmq_stages (job, stage, part, count, chunk, created_at) VALUES (:job, :stage, :part, :count, :chunk, :now);

-- name: stage_part_drop
DELETE FROM rowmq_stages WHERE job = :job AND stage = :stage AND part = :part;

-- name: stage_parts
SELECT stage, part, count FROM rowmq_stages WHERE job = :job ORDER BY stage, part;

-- name: stage_chunk
SELECT chunk FROM rowmq_stages WHERE job = :job AND stage = :stage AND part = :part;

-- name: stage_drop
DELETE FROM rowmq_stages WHERE job = :job;

-- name: batch_find
SELECT number FROM rowmq_batches WHERE name = :name;

-- name: batch_put
INSERT INTO rowmq_batches (name, number, at) VALUES (:name, :number, :now);

-- name: batch_set
UPDATE rowmq_batches SET number = :number, at = :now WHERE name = :name;

-- name: past_message
UPDATE rowmq_messages SET created_at = :created_at WHERE seq = :seq;

-- name: past_pending
UPDATE rowmq_pending SET attempts = :attempts, receives = :attempts WHERE seq = :seq;

-- name: past_outcome
INSERT INTO rowmq_outcomes (seq, queue, state, reason, finished_at, attempts, receives, started_at)
VALUES (:seq, :queue, :state, :reason, :finished_at, :attempts, :attempts, :started_at);

-- name: sweep_stages
DELETE FROM rowmq_stages WHERE rowid IN (SELECT rowid FROM rowmq_stages WHERE created_at <= :before LIMIT :limit);

-- name: sweep_batches
DELETE FROM rowmq_batches WHERE name IN (SELECT name FROM rowmq_batches WHERE at <= :before LIMIT :limit);

-- Monitor -----------------------------------------------------------------------------------------------

-- The token of what is ready is not asked for: the index does without it.
-- name: count_some
SELECT :queue, SUM(time <= :now), SUM(time > :now AND token IS NULL), SUM(time > :now AND token IS NOT NULL),
       MIN(CASE WHEN time <= :now THEN time END),
       (SELECT COUNT(*) FROM (SELECT 1 FROM rowmq_outcomes INDEXED BY rowmq_outcomes_finished WHERE queue = :queue AND state = 'dead' LIMIT :limit))
FROM (SELECT COALESCE(visible_at, parked_until) AS time, CASE WHEN visible_at <= :now THEN NULL ELSE token END AS token
      FROM rowmq_pending INDEXED BY rowmq_pending_due WHERE queue = :queue LIMIT :limit);

-- Where there are more than are counted, each state is counted for itself, by priority.
-- name: count_due
SELECT COUNT(*), 0, 0, MIN(visible_at)
FROM (SELECT visible_at FROM rowmq_pending INDEXED BY rowmq_pending_due WHERE queue = :queue AND priority = :priority AND visible_at <= :now
      ORDER BY visible_at LIMIT :limit);

-- name: count_later
SELECT 0, SUM(token IS NULL), SUM(token IS NOT NULL), NULL
FROM (SELECT token FROM rowmq_pending INDEXED BY rowmq_pending_due WHERE queue = :queue AND priority = :priority AND visible_at > :now
      ORDER BY visible_at LIMIT :limit);

-- name: count_parked
SELECT SUM(time <= :now), SUM(time > :now AND token IS NULL), SUM(time > :now AND token IS NOT NULL),
       MIN(CASE WHEN time <= :now THEN time END)
FROM (SELECT parked_until AS time, token FROM rowmq_pending INDEXED BY rowmq_pending_due
      WHERE queue = :queue AND priority = :priority AND visible_at IS NULL LIMIT :limit);

-- Those of the same moment first, by seq: a comparison of both at once would go through all of them.
-- name: page_finished
SELECT * FROM (
    SELECT finished_at, seq FROM rowmq_outcomes INDEXED BY rowmq_outcomes_finished
    WHERE queue = :queue AND state = :state AND finished_at = :time AND seq < :seq AND :time >= :since
    ORDER BY seq DESC LIMIT :look
)
UNION ALL
SELECT * FROM (
    SELECT finished_at, seq FROM rowmq_outcomes INDEXED BY rowmq_outcomes_finished
    WHERE queue = :queue AND state = :state AND finished_at < :time AND finished_at >= :since
    ORDER BY finished_at DESC, seq DESC LIMIT :look
)
LIMIT :look;

-- name: page_owed
SELECT * FROM (
    SELECT visible_at, seq, token IS NOT NULL FROM rowmq_pending INDEXED BY rowmq_pending_due
    WHERE queue = :queue AND priority = :priority AND visible_at = :time AND seq > :seq AND :time <= :last
    ORDER BY seq LIMIT :look
)
UNION ALL
SELECT * FROM (
    SELECT visible_at, seq, token IS NOT NULL FROM rowmq_pending INDEXED BY rowmq_pending_due
    WHERE queue = :queue AND priority = :priority AND visible_at > :time AND visible_at <= :last
    ORDER BY visible_at, seq LIMIT :look
)
LIMIT :look;

-- name: page_parked
SELECT parked_until, seq, token IS NOT NULL FROM rowmq_pending INDEXED BY rowmq_pending_due
WHERE queue = :queue AND priority = :priority AND visible_at IS NULL AND seq > :seq
ORDER BY seq LIMIT :look;

-- name: page_matching
SELECT m.seq FROM rowmq_messages m WHERE m.seq IN (SELECT value FROM json_each(:seqs)) /*and*/;

-- name: page_failed
SELECT id, seq, instr(lower(error), lower(:text)) > 0
FROM rowmq_failures INDEXED BY rowmq_failures_queue
WHERE queue = :queue AND id < :before
ORDER BY id DESC LIMIT :look;

-- Messages that were found at a later failure already.
-- name: page_failed_before
SELECT m.seq FROM rowmq_messages m
WHERE m.seq IN (SELECT value FROM json_each(:seqs))
  AND EXISTS (SELECT 1 FROM rowmq_failures f INDEXED BY rowmq_failures_seq WHERE f.seq = m.seq AND f.id >= :place AND f.queue = :queue AND instr(lower(f.error), lower(:text)) > 0);

-- name: records_owed
SELECT m.seq, m.id, q.name, NULL, substr(m.body, 1, :excerpt), m.binary, m.metadata, m.priority, m.group_name, m.dedup_key, m.created_at,
       m.scheduled_for, m.deadline, COALESCE(p.visible_at, p.parked_until), p.token IS NOT NULL, p.attempts, p.receives,
       p.consumer, p.claimed_at, NULL, p.reason, p.source, NULL
FROM rowmq_pending p JOIN rowmq_messages m ON m.seq = p.seq JOIN rowmq_queues q ON q.id = p.queue
WHERE p.seq IN (SELECT value FROM json_each(:seqs));

-- name: records_finished
SELECT m.seq, m.id, q.name, o.state, substr(m.body, 1, :excerpt), m.binary, m.metadata, m.priority, m.group_name, m.dedup_key, m.created_at,
       m.scheduled_for, m.deadline, NULL, NULL, o.attempts, o.receives, o.consumer, o.started_at, o.finished_at, o.reason, o.source, NULL
FROM rowmq_outcomes o JOIN rowmq_messages m ON m.seq = o.seq JOIN rowmq_queues q ON q.id = o.queue
WHERE o.seq IN (SELECT value FROM json_each(:seqs));

-- name: failures_newest
SELECT (SELECT MAX(f.id) FROM rowmq_failures f INDEXED BY rowmq_failures_seq WHERE f.seq = m.seq) FROM rowmq_messages m WHERE m.seq IN (SELECT value FROM json_each(:seqs));

-- name: failures_last
SELECT id FROM rowmq_failures INDEXED BY rowmq_failures_seq WHERE seq = :seq ORDER BY id DESC LIMIT :limit;

-- name: failures_count
SELECT COUNT(*) FROM (SELECT 1 FROM rowmq_failures INDEXED BY rowmq_failures_seq WHERE seq = :seq LIMIT :most);

-- name: failures_shown
SELECT seq, attempt, queue, consumer, started_at, ended_at,
       CASE WHEN length(error) <= :longest THEN error ELSE substr(error, 1, :half) || :gap || substr(error, -:half) END, length(CAST(error AS BLOB)), length(error) > :longest
FROM rowmq_failures WHERE id IN (SELECT value FROM json_each(:ids)) ORDER BY id;

-- The body is in base64, with up to two signs that fill it up.
-- name: plans
SELECT s.name, q.name, s.spec, s.next_at, s.paused, substr(json_extract(s.message, '$.body'), 1, :excerpt), json_extract(s.message, '$.binary'),
       length(RTRIM(json_extract(s.message, '$.body'), '='))
FROM rowmq_schedules s JOIN rowmq_queues q ON q.id = s.queue
WHERE :queue IS NULL OR q.name = :queue
ORDER BY s.name LIMIT :limit;

-- name: sampled_find
SELECT until, seq, failure FROM rowmq_sampled WHERE id = 1;

-- name: sampled_lock
SELECT until, seq, failure FROM rowmq_sampled WHERE id = 1;

-- name: sampled_make
INSERT INTO rowmq_sampled (id, until, seq, failure) VALUES (1, :until, :seq, :failure);

-- name: sampled_set
UPDATE rowmq_sampled SET until = :until, seq = :seq, failure = :failure WHERE id = 1;

-- name: newest
SELECT (SELECT MAX(seq) FROM rowmq_messages), (SELECT MAX(id) FROM rowmq_failures);

-- Minutes are counted from the first, and everything before it is minute -1.
-- name: sample_pushed
SELECT queue, CASE WHEN created_at < :first THEN -1 ELSE (created_at - :first) / 60000000 END AS minute, COUNT(*), MAX(seq)
FROM rowmq_messages
WHERE seq > :after AND seq <= :newest AND created_at < :end
GROUP BY 1, 2;

-- name: sample_failed
SELECT queue, CASE WHEN ended_at < :first THEN -1 ELSE (ended_at - :first) / 60000000 END AS minute, COUNT(*), MAX(id)
FROM rowmq_failures
WHERE id > :after AND id <= :newest AND ended_at < :end
GROUP BY 1, 2;

-- name: sample_ended
SELECT :queue,
       (SELECT COUNT(*) FROM rowmq_outcomes INDEXED BY rowmq_outcomes_finished
        WHERE queue = :queue AND state = 'done' AND finished_at >= :first AND finished_at < :end),
       (SELECT COUNT(*) FROM rowmq_outcomes INDEXED BY rowmq_outcomes_finished
        WHERE queue = :queue AND state = 'dead' AND finished_at >= :first AND finished_at < :end);

-- name: sample_times
SELECT m.created_at, m.scheduled_for, ended.started_at, ended.finished_at
FROM (SELECT seq, started_at, finished_at FROM rowmq_outcomes INDEXED BY rowmq_outcomes_finished
      WHERE queue = :queue AND state = :state AND finished_at >= :first AND finished_at < :end
      ORDER BY finished_at DESC LIMIT :limit) AS ended
CROSS JOIN rowmq_messages m ON m.seq = ended.seq;

-- name: sample_add
INSERT INTO rowmq_samples (span, at, queue, pushed, done, dead, failed, ready, scheduled, leased, waits, runs)
VALUES (:span, :at, :queue, :pushed, :done, :dead, :failed, :ready, :scheduled, :leased, :waits, :runs);

-- name: samples_forget
DELETE FROM rowmq_samples WHERE span = :span AND (at < :before OR at >= :behind);

-- name: samples
SELECT q.name, s.span, s.at, s.pushed, s.done, s.dead, s.failed, s.ready, s.scheduled, s.leased, s.waits, s.runs
FROM rowmq_samples s JOIN rowmq_queues q ON q.id = s.queue
WHERE s.span = :span AND s.at >= :since AND s.at < :until
ORDER BY s.at, q.name;

-- name: samples_of_queue
SELECT q.name, s.span, s.at, s.pushed, s.done, s.dead, s.failed, s.ready, s.scheduled, s.leased, s.waits, s.runs
FROM rowmq_samples s JOIN rowmq_queues q ON q.id = s.queue
WHERE s.queue = :queue AND s.span = :span AND s.at >= :since
ORDER BY s.at;

-- name: version
SELECT 'SQLite ' || sqlite_version();

-- name: last_migration
SELECT name FROM rowmq_migrations ORDER BY number DESC LIMIT 1;

-- name: settings
SELECT 'journal_mode', journal_mode FROM pragma_journal_mode
UNION ALL SELECT 'synchronous', synchronous FROM pragma_synchronous;

-- name: whole_size
SELECT page_count * page_size FROM pragma_page_count, pragma_page_size;

-- name: sizes
SELECT tbl_name, SUM(pgsize) FROM dbstat JOIN sqlite_master ON sqlite_master.name = dbstat.name
WHERE dbstat.aggregate = 1 AND substr(tbl_name, 1, 6) = 'rowmq_' GROUP BY tbl_name ORDER BY tbl_name;
