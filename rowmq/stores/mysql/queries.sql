-- Every statement of the store on MariaDB and MySQL, by name, in the order of the protocol. Parameters are
-- :named; a list arrives in parentheses. The same names, with the same result columns, are in every dialect's
-- file.
--
-- Whatever locks or changes rows by a list of keys is forced to the primary key: a plan that read the whole
-- table instead would wait for everybody's locks. DELETE cannot be forced so and is joined to the keys.
-- /*current*/ becomes a shared lock in a caller's transaction, whose snapshot may be older than the lock that
-- was just taken.

-- name: clock
SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6));

-- name: migrations_make
CREATE TABLE IF NOT EXISTS rowmq_migrations (number INTEGER NOT NULL PRIMARY KEY, name VARCHAR(255) NOT NULL)
ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- name: migrations_done
SELECT number FROM rowmq_migrations;

-- name: migrations_add
INSERT INTO rowmq_migrations (number, name) VALUES (:number, :name);

-- name: durability
SELECT @@GLOBAL.innodb_flush_log_at_trx_commit, @@GLOBAL.log_bin, @@GLOBAL.sync_binlog, @@GLOBAL.innodb_doublewrite;

-- Queues by name and by key ---------------------------------------------------------------------------

-- name: queues_by_name
SELECT q.id, q.name, q.max_attempts, q.lease, q.delay, q.backoff_first, q.backoff_factor, q.backoff_cap, q.backoff_jitter,
       q.delivery, q.fifo, q.retention, q.max_age, q.dead_letter, d.name, q.paused, q.max_length, q.archive, q.tags,
       q.rate_limit, q.rate_period, COALESCE(:now, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)))
FROM rowmq_queues q LEFT JOIN rowmq_queues d ON d.id = q.dead_letter
WHERE q.name IN :names;

-- name: queues_by_id
SELECT q.id, q.name, q.max_attempts, q.lease, q.delay, q.backoff_first, q.backoff_factor, q.backoff_cap, q.backoff_jitter,
       q.delivery, q.fifo, q.retention, q.max_age, q.dead_letter, d.name, q.paused, q.max_length, q.archive, q.tags,
       q.rate_limit, q.rate_period, COALESCE(:now, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)))
FROM rowmq_queues q LEFT JOIN rowmq_queues d ON d.id = q.dead_letter
WHERE q.id IN :ids;

-- name: queues_all
SELECT q.id, q.name, q.max_attempts, q.lease, q.delay, q.backoff_first, q.backoff_factor, q.backoff_cap, q.backoff_jitter,
       q.delivery, q.fifo, q.retention, q.max_age, q.dead_letter, d.name, q.paused, q.max_length, q.archive, q.tags,
       q.rate_limit, q.rate_period, COALESCE(:now, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)))
FROM rowmq_queues q LEFT JOIN rowmq_queues d ON d.id = q.dead_letter;

-- Push --------------------------------------------------------------------------------------------------

-- name: insert_message
INSERT INTO rowmq_messages (id, queue, body, `binary`, metadata, priority, group_name, dedup_key, created_at, scheduled_for, deadline)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: insert_pending
INSERT INTO rowmq_pending (seq, queue, priority, visible_at, parked_until, group_id, deadline)
VALUES (?, ?, ?, ?, ?, ?, ?);

-- name: id_of
SELECT id FROM rowmq_messages WHERE seq = :seq;

-- name: seqs_of_ids
SELECT id, seq FROM rowmq_messages WHERE id IN :ids;

-- name: messages_by_id
SELECT id, seq, queue, body, `binary`, metadata FROM rowmq_messages
WHERE id IN :ids;

-- name: dedup_find
SELECT dedup_key, id, seq FROM rowmq_dedup
WHERE queue = :queue AND dedup_key IN :keys AND expires_at > :now;

-- name: dedup_clear
DELETE gone
FROM (
    SELECT dedup_key FROM rowmq_dedup FORCE INDEX (PRIMARY)
    WHERE queue = :queue AND dedup_key IN :keys ORDER BY dedup_key LIMIT 4294967295
) AS chosen
STRAIGHT_JOIN rowmq_dedup AS gone ON gone.queue = :queue AND gone.dedup_key = chosen.dedup_key
WHERE gone.expires_at <= :now;

-- name: dedup_put
INSERT INTO rowmq_dedup (queue, dedup_key, id, seq, expires_at) VALUES (:queue, :key, :id, :seq, :expires_at);

-- name: queue_lock
SELECT id FROM rowmq_queues WHERE id = :queue FOR UPDATE;

-- name: queue_length
SELECT COUNT(*) FROM (SELECT 1 FROM rowmq_pending WHERE queue = :queue LIMIT :limit) AS counted;

-- name: group_make
INSERT INTO rowmq_groups (queue, name) VALUES (:queue, :name) ON DUPLICATE KEY UPDATE id = id;

-- name: group_find
SELECT id, name FROM rowmq_groups FORCE INDEX (rowmq_groups_name)
WHERE queue = :queue AND name IN :names ORDER BY id FOR UPDATE;

-- name: group_lock
SELECT id FROM rowmq_groups FORCE INDEX (PRIMARY) WHERE id IN :groups ORDER BY id FOR UPDATE;

-- name: group_heads
SELECT g.id FROM rowmq_groups g FORCE INDEX (PRIMARY)
WHERE g.id IN :groups
  AND (SELECT seq FROM rowmq_pending WHERE group_id = g.id AND parked = 0 LIMIT 1 /*current*/) IS NOT NULL
/*current*/;

-- name: group_heirs
SELECT (SELECT seq FROM rowmq_pending WHERE group_id = g.id AND parked = 1 ORDER BY seq LIMIT 1 /*current*/)
FROM rowmq_groups g FORCE INDEX (PRIMARY)
WHERE g.id IN :groups
  AND (SELECT seq FROM rowmq_pending WHERE group_id = g.id AND parked = 0 LIMIT 1 /*current*/) IS NULL
/*current*/;

-- name: unpark
UPDATE rowmq_pending FORCE INDEX (PRIMARY) SET visible_at = GREATEST(parked_until, :now), parked_until = NULL WHERE seq IN :seqs;

-- Claim -------------------------------------------------------------------------------------------------

-- Which priorities but the lowest have something due. Each is one look into the index, from where the last claim ended: what is
-- deleted stays there as long as anybody's transaction may still see it, and a look for the highest one would walk over all that.
-- name: due_priorities
(SELECT 9 AS priority FROM rowmq_pending FORCE INDEX (rowmq_pending_due)
 WHERE queue = :queue AND priority = 9 AND visible_at >= :floor_a AND visible_at <= :now LIMIT 1)
UNION ALL (SELECT 8 AS priority FROM rowmq_pending FORCE INDEX (rowmq_pending_due)
 WHERE queue = :queue AND priority = 8 AND visible_at >= :floor_b AND visible_at <= :now LIMIT 1)
UNION ALL (SELECT 7 AS priority FROM rowmq_pending FORCE INDEX (rowmq_pending_due)
 WHERE queue = :queue AND priority = 7 AND visible_at >= :floor_c AND visible_at <= :now LIMIT 1)
UNION ALL (SELECT 6 AS priority FROM rowmq_pending FORCE INDEX (rowmq_pending_due)
 WHERE queue = :queue AND priority = 6 AND visible_at >= :floor_d AND visible_at <= :now LIMIT 1)
UNION ALL (SELECT 5 AS priority FROM rowmq_pending FORCE INDEX (rowmq_pending_due)
 WHERE queue = :queue AND priority = 5 AND visible_at >= :floor_e AND visible_at <= :now LIMIT 1)
UNION ALL (SELECT 4 AS priority FROM rowmq_pending FORCE INDEX (rowmq_pending_due)
 WHERE queue = :queue AND priority = 4 AND visible_at >= :floor_f AND visible_at <= :now LIMIT 1)
UNION ALL (SELECT 3 AS priority FROM rowmq_pending FORCE INDEX (rowmq_pending_due)
 WHERE queue = :queue AND priority = 3 AND visible_at >= :floor_g AND visible_at <= :now LIMIT 1)
UNION ALL (SELECT 2 AS priority FROM rowmq_pending FORCE INDEX (rowmq_pending_due)
 WHERE queue = :queue AND priority = 2 AND visible_at >= :floor_h AND visible_at <= :now LIMIT 1)
UNION ALL (SELECT 1 AS priority FROM rowmq_pending FORCE INDEX (rowmq_pending_due)
 WHERE queue = :queue AND priority = 1 AND visible_at >= :floor_i AND visible_at <= :now LIMIT 1)
ORDER BY priority DESC;

-- One range of the index for each priority. Asking for all at once by time would walk over everything
-- that is scheduled for later. Rows are locked inside, because a join would lock the messages too; those are read
-- as they are once the locks are taken.
-- name: pick
SELECT p.seq, p.queue, p.priority, p.visible_at, p.parked_until, p.group_id, p.attempts, p.receives, p.token, p.consumer,
       p.claimed_at, p.deadline, p.source, m.created_at, m.group_name,
       m.id, m.body, m.`binary`, m.metadata
FROM (
    SELECT seq, queue, priority, visible_at, parked_until, group_id, attempts, receives, token, consumer, claimed_at, deadline, source
    FROM rowmq_pending FORCE INDEX (rowmq_pending_due)
    WHERE queue = :queue AND priority = :priority AND visible_at >= :floor AND visible_at <= :now
    ORDER BY visible_at, seq LIMIT :limit
    FOR UPDATE SKIP LOCKED
) AS p
STRAIGHT_JOIN rowmq_messages m FORCE INDEX (PRIMARY) ON m.seq = p.seq;

-- name: take
UPDATE rowmq_pending FORCE INDEX (PRIMARY)
SET token = :token, attempts = attempts + 1, receives = receives + 1, consumer = :consumer, claimed_at = :now, room = NULL,
    visible_at = CASE WHEN visible_at IS NULL THEN NULL
                      WHEN deadline > :now AND deadline < :until THEN deadline ELSE :until END,
    parked_until = CASE WHEN visible_at IS NOT NULL THEN NULL
                        WHEN deadline > :now AND deadline < :until THEN deadline ELSE :until END
WHERE seq IN :seqs;

-- name: priorities
(SELECT 9 AS priority FROM rowmq_pending WHERE queue = :queue AND priority = 9 LIMIT 1)
UNION ALL (SELECT 8 AS priority FROM rowmq_pending WHERE queue = :queue AND priority = 8 LIMIT 1)
UNION ALL (SELECT 7 AS priority FROM rowmq_pending WHERE queue = :queue AND priority = 7 LIMIT 1)
UNION ALL (SELECT 6 AS priority FROM rowmq_pending WHERE queue = :queue AND priority = 6 LIMIT 1)
UNION ALL (SELECT 5 AS priority FROM rowmq_pending WHERE queue = :queue AND priority = 5 LIMIT 1)
UNION ALL (SELECT 4 AS priority FROM rowmq_pending WHERE queue = :queue AND priority = 4 LIMIT 1)
UNION ALL (SELECT 3 AS priority FROM rowmq_pending WHERE queue = :queue AND priority = 3 LIMIT 1)
UNION ALL (SELECT 2 AS priority FROM rowmq_pending WHERE queue = :queue AND priority = 2 LIMIT 1)
UNION ALL (SELECT 1 AS priority FROM rowmq_pending WHERE queue = :queue AND priority = 1 LIMIT 1)
UNION ALL (SELECT 0 AS priority FROM rowmq_pending WHERE queue = :queue AND priority = 0 LIMIT 1)
ORDER BY priority DESC;

-- name: candidates
SELECT due.seq
FROM (
    SELECT seq, visible_at FROM rowmq_pending FORCE INDEX (rowmq_pending_due)
    WHERE queue = :queue AND priority = :priority AND visible_at >= :time AND visible_at <= :now
      AND (visible_at > :time OR seq > :seq)
    ORDER BY visible_at, seq LIMIT :look
) AS due
STRAIGHT_JOIN rowmq_messages m ON m.seq = due.seq
WHERE 1 = 1 /*and*/
ORDER BY due.visible_at, due.seq LIMIT :limit;

-- name: candidates_end
SELECT visible_at, seq FROM rowmq_pending FORCE INDEX (rowmq_pending_due)
WHERE queue = :queue AND priority = :priority AND visible_at >= :time AND visible_at <= :now
  AND (visible_at > :time OR seq > :seq)
ORDER BY visible_at, seq LIMIT 1 OFFSET :skip;

-- name: lock
SELECT p.seq, p.queue, p.priority, p.visible_at, p.parked_until, p.group_id, p.attempts, p.receives, p.token, p.consumer,
       p.claimed_at, p.deadline, p.source, m.created_at, m.group_name,
       m.id, m.body, m.`binary`, m.metadata
FROM rowmq_pending p FORCE INDEX (PRIMARY) STRAIGHT_JOIN rowmq_messages m ON m.seq = p.seq
WHERE p.seq IN :seqs AND p.visible_at <= :now
FOR UPDATE SKIP LOCKED;

-- name: next_parked
SELECT p.seq, p.queue, p.priority, p.visible_at, p.parked_until, p.group_id, p.attempts, p.receives, p.token, p.consumer,
       p.claimed_at, p.deadline, p.source, m.created_at, m.group_name,
       m.id, m.body, m.`binary`, m.metadata
FROM rowmq_pending p FORCE INDEX (rowmq_pending_group) STRAIGHT_JOIN rowmq_messages m ON m.seq = p.seq
WHERE p.group_id = :group AND p.parked = 1 AND p.seq > :after
ORDER BY p.seq LIMIT :limit FOR UPDATE;

-- name: rate_lock
SELECT room, at FROM rowmq_rates WHERE queue = :queue FOR UPDATE;

-- name: rate_make
INSERT INTO rowmq_rates (queue, room, at) VALUES (:queue, :room, :at);

-- name: rate_set
UPDATE rowmq_rates SET room = :room, at = :at WHERE queue = :queue;

-- name: claim_find
SELECT queue, token, runs, seqs FROM rowmq_claims WHERE name = :name;

-- name: claim_lock
SELECT queue, token, runs, seqs FROM rowmq_claims WHERE name = :name FOR UPDATE;

-- name: claim_put
INSERT INTO rowmq_claims (name, queue, token, runs, created_at, seqs) VALUES (:name, :queue, :token, 1, :now, :seqs);

-- name: claim_adopt
UPDATE rowmq_claims SET token = :token, runs = runs + 1 WHERE name = :name;

-- name: readdress
UPDATE rowmq_pending FORCE INDEX (PRIMARY) SET token = :token WHERE seq IN :seqs AND token = :old;

-- name: held_by
SELECT p.seq, p.queue, p.priority, p.visible_at, p.parked_until, p.group_id, p.attempts, p.receives, p.token, p.consumer,
       p.claimed_at, p.deadline, p.source, m.created_at, m.group_name,
       m.id, m.body, m.`binary`, m.metadata
FROM rowmq_pending p FORCE INDEX (PRIMARY) STRAIGHT_JOIN rowmq_messages m ON m.seq = p.seq
WHERE p.seq IN :seqs AND p.token = :token;

-- Extend and settle -------------------------------------------------------------------------------------

-- name: hold
SELECT p.seq, p.queue, p.priority, p.visible_at, p.parked_until, p.group_id, p.attempts, p.receives, p.token, p.consumer,
       p.claimed_at, p.deadline, p.source, m.created_at, m.group_name
FROM rowmq_pending p FORCE INDEX (PRIMARY) STRAIGHT_JOIN rowmq_messages m ON m.seq = p.seq
WHERE p.seq IN :seqs
ORDER BY p.seq FOR UPDATE;

-- name: renew
UPDATE rowmq_pending FORCE INDEX (PRIMARY)
SET visible_at = CASE WHEN visible_at IS NULL THEN NULL ELSE :until END,
    parked_until = CASE WHEN visible_at IS NULL THEN :until ELSE NULL END
WHERE seq IN :seqs;

-- Groups, fifo queues and queues that drop their payloads need more than this: they are left to the slower way.
-- name: ack_hold
SELECT seq, token FROM rowmq_pending FORCE INDEX (PRIMARY)
WHERE seq IN :seqs AND group_id IS NULL
  AND queue NOT IN (SELECT id FROM rowmq_queues WHERE retention = 0 OR fifo)
ORDER BY seq FOR UPDATE;

-- The same in one statement with what finishes them, for a token that is theirs.
-- name: ack_finish
INSERT INTO rowmq_outcomes (seq, queue, state, finished_at, attempts, receives, token, consumer, started_at, source)
SELECT seq, queue, 'done', COALESCE(:now, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))),
       attempts, receives, token, consumer, claimed_at, source
FROM rowmq_pending FORCE INDEX (PRIMARY)
WHERE seq IN :seqs AND token = :token AND group_id IS NULL
  AND queue NOT IN (SELECT id FROM rowmq_queues WHERE retention = 0 OR fifo)
FOR UPDATE;

-- What is owed and finished at once was finished just now.
-- name: ack_finished
SELECT p.seq FROM rowmq_pending p FORCE INDEX (PRIMARY) STRAIGHT_JOIN rowmq_outcomes o ON o.seq = p.seq
WHERE p.seq IN :seqs AND p.token = :token;

-- name: finish
INSERT INTO rowmq_outcomes (seq, queue, state, reason, finished_at, attempts, receives, token, consumer, started_at, source)
SELECT seq, queue, :state, :reason, COALESCE(:now, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))),
       attempts, receives, token, consumer, claimed_at, source
FROM rowmq_pending FORCE INDEX (PRIMARY) WHERE seq IN :seqs;

-- name: keep_result
UPDATE rowmq_outcomes SET result = :result WHERE seq = :seq;

-- name: unpend
DELETE gone
FROM (SELECT seq FROM rowmq_pending FORCE INDEX (PRIMARY) WHERE seq IN :seqs ORDER BY seq LIMIT 4294967295) AS chosen
STRAIGHT_JOIN rowmq_pending AS gone ON gone.seq = chosen.seq;

-- One range of keys is read as such without being told to.
-- name: unpend_run
DELETE FROM rowmq_pending WHERE seq BETWEEN :first AND :last;

-- name: forget
UPDATE rowmq_messages FORCE INDEX (PRIMARY) SET body = NULL WHERE seq IN :seqs;

-- name: postpone
UPDATE rowmq_pending FORCE INDEX (PRIMARY)
SET visible_at = CASE WHEN visible_at IS NULL THEN NULL ELSE :at END,
    parked_until = CASE WHEN visible_at IS NULL THEN :at ELSE NULL END,
    attempts = attempts - :refund, token = NULL, consumer = NULL, claimed_at = NULL
WHERE seq IN :seqs;

-- name: move
UPDATE rowmq_pending FORCE INDEX (PRIMARY)
SET queue = :queue, visible_at = :now, parked_until = NULL, group_id = NULL, attempts = 0, token = NULL, consumer = NULL,
    claimed_at = NULL, source = :source, reason = :reason
WHERE seq IN :seqs;

-- name: move_into_group
UPDATE rowmq_pending
SET queue = :queue, visible_at = CASE WHEN :parked THEN NULL ELSE :now END, parked_until = CASE WHEN :parked THEN :now END,
    group_id = :group_id, attempts = 0, token = NULL, consumer = NULL, claimed_at = NULL, source = :source, reason = :reason
WHERE seq = :seq;

-- name: fail
INSERT INTO rowmq_failures (seq, attempt, queue, consumer, started_at, ended_at, error)
VALUES (:seq, :attempt, :queue, :consumer, :started_at, :ended_at, :error);

-- name: acked_by
SELECT seq, token FROM rowmq_outcomes FORCE INDEX (PRIMARY) WHERE seq IN :seqs AND state = 'done' /*current*/;

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
(SELECT seq FROM rowmq_pending WHERE queue = :queue LIMIT :limit)
UNION ALL
(SELECT seq FROM rowmq_outcomes WHERE queue = :queue LIMIT :limit)
LIMIT :limit;

-- name: erase_pending
DELETE gone
FROM (SELECT seq FROM rowmq_pending FORCE INDEX (PRIMARY) WHERE seq IN :seqs ORDER BY seq LIMIT 4294967295) AS chosen
STRAIGHT_JOIN rowmq_pending AS gone ON gone.seq = chosen.seq;

-- name: erase_outcomes
DELETE gone
FROM (SELECT seq FROM rowmq_outcomes FORCE INDEX (PRIMARY) WHERE seq IN :seqs ORDER BY seq LIMIT 4294967295) AS chosen
STRAIGHT_JOIN rowmq_outcomes AS gone ON gone.seq = chosen.seq;

-- name: erase_failures
DELETE gone
FROM (SELECT id FROM rowmq_failures FORCE INDEX (rowmq_failures_seq) WHERE seq IN :seqs ORDER BY seq LIMIT 4294967295) AS chosen
STRAIGHT_JOIN rowmq_failures AS gone ON gone.id = chosen.id;

-- name: erase_messages
DELETE gone
FROM (SELECT seq FROM rowmq_messages FORCE INDEX (PRIMARY) WHERE seq IN :seqs ORDER BY seq LIMIT 4294967295) AS chosen
STRAIGHT_JOIN rowmq_messages AS gone ON gone.seq = chosen.seq;

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
FROM (
    SELECT p.seq FROM rowmq_pending p JOIN rowmq_messages m ON m.seq = p.seq WHERE p.queue = :queue /*and*/ LIMIT :limit
) AS chosen
STRAIGHT_JOIN rowmq_pending p ON p.seq = chosen.seq
STRAIGHT_JOIN rowmq_messages m ON m.seq = chosen.seq
WHERE p.queue = :queue /*and*/
FOR UPDATE SKIP LOCKED;

-- name: purge_finished
SELECT o.seq, NULL
FROM (
    SELECT o.seq FROM rowmq_outcomes o JOIN rowmq_messages m ON m.seq = o.seq
    WHERE o.queue = :queue AND o.state = :state /*and*/
    LIMIT :limit
) AS chosen
STRAIGHT_JOIN rowmq_outcomes o ON o.seq = chosen.seq
WHERE o.queue = :queue AND o.state = :state
FOR UPDATE SKIP LOCKED;

-- name: count_pending
SELECT SUM(time <= :now), SUM(time > :now AND token IS NULL), SUM(time > :now AND token IS NOT NULL),
       MIN(CASE WHEN time <= :now THEN time END)
FROM (SELECT COALESCE(visible_at, parked_until) AS time, token FROM rowmq_pending WHERE queue = :queue) AS owed;

-- name: count_finished
SELECT state, COUNT(*) FROM rowmq_outcomes WHERE queue = :queue GROUP BY state;

-- Topics ------------------------------------------------------------------------------------------------

-- name: topic_find
SELECT id, bound_at FROM rowmq_topics WHERE name = :name;

-- name: topic_make
INSERT INTO rowmq_topics (name) VALUES (:name) ON DUPLICATE KEY UPDATE id = id;

-- name: topic_alone
SELECT id FROM rowmq_topics WHERE id = :topic FOR UPDATE;

-- name: topic_share
SELECT id FROM rowmq_topics WHERE id = :topic LOCK IN SHARE MODE;

-- name: topic_bound
UPDATE rowmq_topics SET bound_at = :at WHERE id = :topic;

-- name: topic_queues
SELECT q.name FROM rowmq_bindings b JOIN rowmq_queues q ON q.id = b.queue WHERE b.topic = :topic /*current*/;

-- name: topics_over
SELECT t.name FROM rowmq_topics t JOIN rowmq_queues q ON q.name = CONCAT(:prefix, t.name)
WHERE t.bound_at < :before AND EXISTS (SELECT 1 FROM rowmq_pending WHERE queue = q.id);

-- name: bind
INSERT INTO rowmq_bindings (topic, queue) VALUES (:topic, :queue);

-- name: unbind
DELETE FROM rowmq_bindings WHERE topic = :topic AND queue = (SELECT id FROM rowmq_queues WHERE name = :queue);

-- name: bindings
SELECT t.name, q.name
FROM rowmq_bindings b JOIN rowmq_topics t ON t.id = b.topic JOIN rowmq_queues q ON q.id = b.queue;

-- name: backlog
SELECT m.seq, m.id, m.body, m.`binary`, m.metadata, m.priority, m.group_name, m.dedup_key, m.scheduled_for, m.deadline
FROM rowmq_pending p JOIN rowmq_messages m ON m.seq = p.seq
WHERE p.queue = :queue AND p.seq > :after
ORDER BY p.seq LIMIT :limit;

-- name: pushed_after
SELECT seq FROM rowmq_pending FORCE INDEX (PRIMARY) WHERE seq > :after AND queue IN :queues LIMIT 1;

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
SELECT holder, until FROM rowmq_leads WHERE name = :name FOR UPDATE;

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
SELECT m.seq, m.id, q.name, NULL, m.body, m.`binary`, m.metadata, m.priority, m.group_name, m.dedup_key, m.created_at,
       m.scheduled_for, m.deadline, COALESCE(p.visible_at, p.parked_until), p.token IS NOT NULL, p.attempts, p.receives,
       p.consumer, p.claimed_at, NULL, p.reason, p.source, NULL
FROM rowmq_pending p STRAIGHT_JOIN rowmq_messages m ON m.seq = p.seq STRAIGHT_JOIN rowmq_queues q ON q.id = p.queue
WHERE 1 = 1 /*and*/
ORDER BY m.seq LIMIT :limit;

-- name: find_finished
SELECT m.seq, m.id, q.name, o.state, m.body, m.`binary`, m.metadata, m.priority, m.group_name, m.dedup_key, m.created_at,
       m.scheduled_for, m.deadline, NULL, NULL, o.attempts, o.receives, o.consumer, o.started_at, o.finished_at, o.reason, o.source,
       o.result
FROM rowmq_outcomes o STRAIGHT_JOIN rowmq_messages m ON m.seq = o.seq STRAIGHT_JOIN rowmq_queues q ON q.id = o.queue
WHERE 1 = 1 /*and*/
ORDER BY m.seq LIMIT :limit;

-- name: failures
SELECT attempt, queue, consumer, started_at, ended_at, error FROM rowmq_failures WHERE seq = :seq ORDER BY id;

-- name: dead_of_queue
SELECT seq FROM rowmq_outcomes WHERE queue = :queue AND state = 'dead' AND seq > :after ORDER BY seq LIMIT :limit FOR UPDATE SKIP LOCKED;

-- name: lettered_of_queue
SELECT p.seq, p.source FROM rowmq_pending p
WHERE p.queue = :queue AND p.source IS NOT NULL AND p.seq > :after /*and*/
ORDER BY p.seq LIMIT :limit FOR UPDATE SKIP LOCKED;

-- name: dead_among
SELECT seq, queue FROM rowmq_outcomes FORCE INDEX (PRIMARY) WHERE seq IN :seqs AND state = 'dead' ORDER BY seq FOR UPDATE;

-- name: finished_of
SELECT seq, queue, finished_at FROM rowmq_outcomes FORCE INDEX (PRIMARY) WHERE seq IN :seqs ORDER BY seq FOR UPDATE;

-- name: revive
INSERT INTO rowmq_pending (seq, queue, priority, visible_at, receives, deadline)
SELECT o.seq, :queue, m.priority, :now, o.receives, m.deadline
FROM rowmq_outcomes o JOIN rowmq_messages m ON m.seq = o.seq
WHERE o.seq IN :seqs AND o.state = 'dead';

-- name: unfinish
DELETE gone
FROM (SELECT seq FROM rowmq_outcomes FORCE INDEX (PRIMARY) WHERE seq IN :seqs ORDER BY seq LIMIT 4294967295) AS chosen
STRAIGHT_JOIN rowmq_outcomes AS gone ON gone.seq = chosen.seq
WHERE gone.state = 'dead';

-- name: reset
UPDATE rowmq_pending FORCE INDEX (PRIMARY)
SET visible_at = CASE WHEN visible_at IS NULL THEN NULL ELSE :now END,
    parked_until = CASE WHEN visible_at IS NULL THEN :now ELSE NULL END,
    attempts = 0, token = NULL, consumer = NULL, claimed_at = NULL
WHERE seq IN :seqs;

-- name: unletter
UPDATE rowmq_pending SET source = NULL, reason = NULL WHERE seq IN :seqs;

-- name: bounds
SELECT (SELECT MIN(seq) FROM rowmq_messages), (SELECT MAX(seq) FROM rowmq_messages);

-- name: mark_archived
UPDATE rowmq_outcomes FORCE INDEX (PRIMARY) SET archived_at = :now WHERE seq IN :seqs AND archived_at IS NULL;

-- name: ledger
SELECT at, queue, action, count, first_seq, last_seq FROM rowmq_ledger ORDER BY id;

-- Sweep -------------------------------------------------------------------------------------------------

-- The queues in which something may be overdue by the strictest rules of any: one walk over all that waits, in
-- the order in which it is stored.
-- name: sweep_queues
SELECT p.queue FROM rowmq_pending p FORCE INDEX (PRIMARY)
WHERE p.visible_at <= :now AND (p.attempts >= :most OR (:final AND p.token IS NOT NULL))
UNION
SELECT p.queue FROM rowmq_pending p FORCE INDEX (PRIMARY) STRAIGHT_JOIN rowmq_messages m ON m.seq = p.seq
WHERE (:final OR :oldest >= 0) AND (p.token IS NULL OR COALESCE(p.visible_at, p.parked_until) <= :now)
  AND ((:final AND p.deadline <= :now) OR m.created_at <= :oldest);

-- A live lease is left alone; age and deadline do not wait for anything else.
-- name: sweep_overdue
SELECT p.seq, p.queue, p.priority, p.visible_at, p.parked_until, p.group_id, p.attempts, p.receives, p.token, p.consumer,
       p.claimed_at, p.deadline, p.source, m.created_at, m.group_name
FROM (
    SELECT p.seq FROM rowmq_pending p FORCE INDEX (PRIMARY) STRAIGHT_JOIN rowmq_messages m ON m.seq = p.seq
    WHERE p.queue = :queue
      AND ((p.visible_at <= :now AND (p.attempts >= :most OR (:final AND p.token IS NOT NULL)))
        OR ((p.token IS NULL OR COALESCE(p.visible_at, p.parked_until) <= :now)
            AND ((:final AND p.deadline <= :now) OR m.created_at <= :oldest)))
    ORDER BY p.seq LIMIT :limit
) AS chosen
STRAIGHT_JOIN rowmq_pending p ON p.seq = chosen.seq
STRAIGHT_JOIN rowmq_messages m ON m.seq = chosen.seq
WHERE p.queue = :queue AND (p.token IS NULL OR COALESCE(p.visible_at, p.parked_until) <= :now)
ORDER BY p.seq FOR UPDATE SKIP LOCKED;

-- name: sweep_finished
SELECT seq FROM rowmq_outcomes FORCE INDEX (rowmq_outcomes_finished)
WHERE queue = :queue AND state IN ('done', 'dead') AND finished_at <= :before AND (archived_at IS NOT NULL OR NOT :archived)
LIMIT :limit FOR UPDATE SKIP LOCKED;

-- name: orphan_queues
SELECT queue FROM (SELECT queue FROM rowmq_pending GROUP BY queue) AS present WHERE queue NOT IN (SELECT id FROM rowmq_queues);

-- name: sweep_dedup
DELETE FROM rowmq_dedup WHERE expires_at <= :now ORDER BY expires_at LIMIT :limit;

-- name: sweep_claims
DELETE FROM rowmq_claims WHERE created_at <= :before ORDER BY created_at LIMIT :limit;

-- name: sweep_consumers
DELETE FROM rowmq_consumers WHERE alive_until <= :now;

-- name: sweep_leads
DELETE FROM rowmq_leads WHERE until <= :now;

-- name: sweep_groups
SELECT id FROM rowmq_groups g
WHERE NOT EXISTS (SELECT 1 FROM rowmq_pending WHERE group_id = g.id) LIMIT :limit FOR UPDATE SKIP LOCKED;

-- name: sweep_groups_delete
DELETE gone
FROM (SELECT id FROM rowmq_groups FORCE INDEX (PRIMARY) WHERE id IN :groups ORDER BY id LIMIT 4294967295) AS chosen
STRAIGHT_JOIN rowmq_groups AS gone ON gone.id = chosen.id
WHERE NOT EXISTS (SELECT 1 FROM rowmq_pending WHERE group_id = gone.id);

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
SELECT number FROM rowmq_batches WHERE name = :name FOR UPDATE;

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
DELETE FROM rowmq_stages WHERE created_at <= :before ORDER BY created_at LIMIT :limit;

-- name: sweep_batches
DELETE FROM rowmq_batches WHERE at <= :before ORDER BY at LIMIT :limit;

-- Monitor -----------------------------------------------------------------------------------------------

-- name: count_some
SELECT :queue, SUM(time <= :now), SUM(time > :now AND token IS NULL), SUM(time > :now AND token IS NOT NULL),
       MIN(CASE WHEN time <= :now THEN time END),
       (SELECT COUNT(*) FROM (SELECT 1 FROM rowmq_outcomes FORCE INDEX (rowmq_outcomes_finished) WHERE queue = :queue AND state = 'dead' LIMIT :limit) AS dead)
FROM (SELECT COALESCE(visible_at, parked_until) AS time, token AS token
      FROM rowmq_pending FORCE INDEX (rowmq_pending_due) WHERE queue = :queue LIMIT :limit) AS owed;

-- Where there are more than are counted, each state is counted for itself, by priority.
-- name: count_due
SELECT COUNT(*), 0, 0, MIN(visible_at)
FROM (SELECT visible_at FROM rowmq_pending FORCE INDEX (rowmq_pending_due) WHERE queue = :queue AND priority = :priority AND visible_at <= :now
      ORDER BY visible_at LIMIT :limit) AS due;

-- name: count_later
SELECT 0, SUM(token IS NULL), SUM(token IS NOT NULL), NULL
FROM (SELECT token FROM rowmq_pending FORCE INDEX (rowmq_pending_due) WHERE queue = :queue AND priority = :priority AND visible_at > :now
      ORDER BY visible_at LIMIT :limit) AS later;

-- name: count_parked
SELECT SUM(time <= :now), SUM(time > :now AND token IS NULL), SUM(time > :now AND token IS NOT NULL),
       MIN(CASE WHEN time <= :now THEN time END)
FROM (SELECT parked_until AS time, token FROM rowmq_pending FORCE INDEX (rowmq_pending_due)
      WHERE queue = :queue AND priority = :priority AND visible_at IS NULL LIMIT :limit) AS parked;

-- name: page_finished
SELECT finished_at, seq
FROM (
    (SELECT finished_at, seq FROM rowmq_outcomes FORCE INDEX (rowmq_outcomes_finished)
     WHERE queue = :queue AND state = :state AND finished_at = :time AND seq < :seq AND finished_at >= :since
     ORDER BY seq DESC LIMIT :look)
    UNION ALL
    (SELECT finished_at, seq FROM rowmq_outcomes FORCE INDEX (rowmq_outcomes_finished)
     WHERE queue = :queue AND state = :state AND finished_at < :time AND finished_at >= :since
     ORDER BY finished_at DESC, seq DESC LIMIT :look)
) AS ended
ORDER BY finished_at DESC, seq DESC LIMIT :look;

-- name: page_owed
SELECT visible_at, seq, held
FROM (
    (SELECT visible_at, seq, token IS NOT NULL AS held FROM rowmq_pending FORCE INDEX (rowmq_pending_due)
     WHERE queue = :queue AND priority = :priority AND visible_at = :time AND seq > :seq AND visible_at <= :last
     ORDER BY seq LIMIT :look)
    UNION ALL
    (SELECT visible_at, seq, token IS NOT NULL AS held FROM rowmq_pending FORCE INDEX (rowmq_pending_due)
     WHERE queue = :queue AND priority = :priority AND visible_at > :time AND visible_at <= :last
     ORDER BY visible_at, seq LIMIT :look)
) AS due
ORDER BY visible_at, seq LIMIT :look;

-- name: page_parked
SELECT parked_until, seq, token IS NOT NULL FROM rowmq_pending FORCE INDEX (rowmq_pending_due)
WHERE queue = :queue AND priority = :priority AND visible_at IS NULL AND seq > :seq
ORDER BY seq LIMIT :look;

-- name: page_matching
SELECT m.seq FROM rowmq_messages m WHERE m.seq IN :seqs /*and*/;

-- name: page_failed
SELECT id, seq, LOCATE(LOWER(:text), LOWER(error)) > 0
FROM rowmq_failures FORCE INDEX (rowmq_failures_queue)
WHERE queue = :queue AND id < :before
ORDER BY id DESC LIMIT :look;

-- Messages that were found at a later failure already.
-- name: page_failed_before
SELECT m.seq FROM rowmq_messages m
WHERE m.seq IN :seqs
  AND EXISTS (SELECT 1 FROM rowmq_failures f FORCE INDEX (rowmq_failures_seq) WHERE f.seq = m.seq AND f.id >= :place AND f.queue = :queue AND LOCATE(LOWER(:text), LOWER(f.error)) > 0);

-- A part of a payload alone would be taken for a name: short bytes are text here.
-- name: records_owed
SELECT m.seq, m.id, q.name, NULL, IF(LENGTH(m.body) > :excerpt, SUBSTRING(m.body, 1, :excerpt), m.body), m.`binary`, m.metadata, m.priority, m.group_name, m.dedup_key, m.created_at,
       m.scheduled_for, m.deadline, COALESCE(p.visible_at, p.parked_until), p.token IS NOT NULL, p.attempts, p.receives,
       p.consumer, p.claimed_at, NULL, p.reason, p.source, NULL
FROM rowmq_pending p STRAIGHT_JOIN rowmq_messages m ON m.seq = p.seq STRAIGHT_JOIN rowmq_queues q ON q.id = p.queue
WHERE p.seq IN :seqs;

-- name: records_finished
SELECT m.seq, m.id, q.name, o.state, IF(LENGTH(m.body) > :excerpt, SUBSTRING(m.body, 1, :excerpt), m.body), m.`binary`, m.metadata, m.priority, m.group_name, m.dedup_key, m.created_at,
       m.scheduled_for, m.deadline, NULL, NULL, o.attempts, o.receives, o.consumer, o.started_at, o.finished_at, o.reason, o.source, NULL
FROM rowmq_outcomes o STRAIGHT_JOIN rowmq_messages m ON m.seq = o.seq STRAIGHT_JOIN rowmq_queues q ON q.id = o.queue
WHERE o.seq IN :seqs;

-- name: failures_newest
SELECT (SELECT MAX(f.id) FROM rowmq_failures f FORCE INDEX (rowmq_failures_seq) WHERE f.seq = m.seq) FROM rowmq_messages m WHERE m.seq IN :seqs;

-- name: failures_last
SELECT id FROM rowmq_failures FORCE INDEX (rowmq_failures_seq) WHERE seq = :seq ORDER BY id DESC LIMIT :limit;

-- name: failures_count
SELECT COUNT(*) FROM (SELECT 1 FROM rowmq_failures FORCE INDEX (rowmq_failures_seq) WHERE seq = :seq LIMIT :most) AS counted;

-- name: failures_shown
SELECT seq, attempt, queue, consumer, started_at, ended_at,
       IF(CHAR_LENGTH(error) <= :longest, error, CONCAT(LEFT(error, :half), :gap, RIGHT(error, :half))), LENGTH(error), CHAR_LENGTH(error) > :longest
FROM rowmq_failures WHERE id IN :ids ORDER BY id;

-- The body is in base64, with up to two signs that fill it up.
-- name: plans
SELECT s.name, q.name, s.spec, s.next_at, s.paused, SUBSTRING(JSON_UNQUOTE(JSON_EXTRACT(s.message, '$.body')), 1, :excerpt), JSON_EXTRACT(s.message, '$.binary') = TRUE,
       CHAR_LENGTH(TRIM(TRAILING '=' FROM JSON_UNQUOTE(JSON_EXTRACT(s.message, '$.body'))))
FROM rowmq_schedules s JOIN rowmq_queues q ON q.id = s.queue
WHERE :queue IS NULL OR q.name = :queue
ORDER BY s.name LIMIT :limit;

-- name: sampled_find
SELECT until, seq, failure FROM rowmq_sampled WHERE id = 1;

-- name: sampled_lock
SELECT until, seq, failure FROM rowmq_sampled WHERE id = 1 FOR UPDATE;

-- name: sampled_make
INSERT INTO rowmq_sampled (id, until, seq, failure) VALUES (1, :until, :seq, :failure);

-- name: sampled_set
UPDATE rowmq_sampled SET until = :until, seq = :seq, failure = :failure WHERE id = 1;

-- name: newest
SELECT (SELECT MAX(seq) FROM rowmq_messages), (SELECT MAX(id) FROM rowmq_failures);

-- Minutes are counted from the first, and everything before it is minute -1.
-- name: sample_pushed
SELECT queue, CASE WHEN created_at < :first THEN -1 ELSE (created_at - :first) DIV 60000000 END AS minute, COUNT(*), MAX(seq)
FROM rowmq_messages FORCE INDEX (PRIMARY)
WHERE seq > :after AND seq <= :newest AND created_at < :end
GROUP BY queue, minute;

-- name: sample_failed
SELECT queue, CASE WHEN ended_at < :first THEN -1 ELSE (ended_at - :first) DIV 60000000 END AS minute, COUNT(*), MAX(id)
FROM rowmq_failures FORCE INDEX (PRIMARY)
WHERE id > :after AND id <= :newest AND ended_at < :end
GROUP BY queue, minute;

-- name: sample_ended
SELECT :queue,
       (SELECT COUNT(*) FROM rowmq_outcomes FORCE INDEX (rowmq_outcomes_finished)
        WHERE queue = :queue AND state = 'done' AND finished_at >= :first AND finished_at < :end),
       (SELECT COUNT(*) FROM rowmq_outcomes FORCE INDEX (rowmq_outcomes_finished)
        WHERE queue = :queue AND state = 'dead' AND finished_at >= :first AND finished_at < :end);

-- name: sample_times
SELECT m.created_at, m.scheduled_for, ended.started_at, ended.finished_at
FROM (SELECT seq, started_at, finished_at FROM rowmq_outcomes FORCE INDEX (rowmq_outcomes_finished)
      WHERE queue = :queue AND state = :state AND finished_at >= :first AND finished_at < :end
      ORDER BY finished_at DESC LIMIT :limit) AS ended
STRAIGHT_JOIN rowmq_messages m ON m.seq = ended.seq;

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
SELECT CONCAT(IF(VERSION() LIKE '%MariaDB%', 'MariaDB ', 'MySQL '), SUBSTRING_INDEX(VERSION(), '-', 1));

-- name: last_migration
SELECT name FROM rowmq_migrations ORDER BY number DESC LIMIT 1;

-- name: settings
SELECT 'innodb_doublewrite', CAST(@@innodb_doublewrite AS CHAR)
UNION ALL SELECT 'innodb_flush_log_at_trx_commit', CAST(@@innodb_flush_log_at_trx_commit AS CHAR)
UNION ALL SELECT 'log_bin', CAST(@@log_bin AS CHAR)
UNION ALL SELECT 'sync_binlog', CAST(@@sync_binlog AS CHAR);

-- name: sizes
SELECT table_name, CAST(data_length + index_length AS UNSIGNED) FROM information_schema.tables
WHERE table_schema = DATABASE() AND LEFT(table_name, 6) = 'rowmq_' AND table_type = 'BASE TABLE' ORDER BY table_name;
