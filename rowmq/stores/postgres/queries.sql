-- Every statement of the PostgreSQL store, by name, in the order of the protocol. Parameters are :named; a list
-- arrives as an array. The same names, with the same result columns, are in every dialect's file.

-- name: clock
SELECT CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint);

-- name: migrations_make
CREATE TABLE IF NOT EXISTS rowmq_migrations (number bigint PRIMARY KEY, name text NOT NULL);

-- name: migrations_done
SELECT number FROM rowmq_migrations;

-- name: migrations_add
INSERT INTO rowmq_migrations (number, name) VALUES (:number, :name);

-- name: durability
SELECT current_setting('fsync'), current_setting('synchronous_commit'), current_setting('full_page_writes');

-- Queues by name and by key ---------------------------------------------------------------------------

-- name: queues_by_name
SELECT q.id, q.name, q.max_attempts, q.lease, q.delay, q.backoff_first, q.backoff_factor, q.backoff_cap, q.backoff_jitter,
       q.delivery, q.fifo, q.retention, q.max_age, q.dead_letter, d.name, q.paused, q.max_length, q.archive, q.tags,
       q.rate_limit, q.rate_period, COALESCE(CAST(:now AS bigint), CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint))
FROM rowmq_queues q LEFT JOIN rowmq_queues d ON d.id = q.dead_letter
WHERE q.name = ANY(CAST(:names AS text[]));

-- name: queues_by_id
SELECT q.id, q.name, q.max_attempts, q.lease, q.delay, q.backoff_first, q.backoff_factor, q.backoff_cap, q.backoff_jitter,
       q.delivery, q.fifo, q.retention, q.max_age, q.dead_letter, d.name, q.paused, q.max_length, q.archive, q.tags,
       q.rate_limit, q.rate_period, COALESCE(CAST(:now AS bigint), CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint))
FROM rowmq_queues q LEFT JOIN rowmq_queues d ON d.id = q.dead_letter
WHERE q.id = ANY(CAST(:ids AS bigint[]));

-- name: queues_all
SELECT q.id, q.name, q.max_attempts, q.lease, q.delay, q.backoff_first, q.backoff_factor, q.backoff_cap, q.backoff_jitter,
       q.delivery, q.fifo, q.retention, q.max_age, q.dead_letter, d.name, q.paused, q.max_length, q.archive, q.tags,
       q.rate_limit, q.rate_period, COALESCE(CAST(:now AS bigint), CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint))
FROM rowmq_queues q LEFT JOIN rowmq_queues d ON d.id = q.dead_letter;

-- Push --------------------------------------------------------------------------------------------------

-- The seqs are drawn first, in the order given, so that both tables are filled from one list without a join.
-- name: insert
WITH given AS MATERIALIZED (
    SELECT nextval('rowmq_messages_seq_seq') AS seq, said.*
    FROM unnest(CAST(:id AS uuid[]), CAST(:queue AS bigint[]), CAST(:body AS bytea[]), CAST(:binary AS boolean[]),
                CAST(:metadata AS text[]), CAST(:priority AS bigint[]), CAST(:group_name AS text[]), CAST(:dedup_key AS text[]),
                CAST(:created_at AS bigint[]), CAST(:scheduled_for AS bigint[]), CAST(:deadline AS bigint[]),
                CAST(:visible_at AS bigint[]), CAST(:parked_until AS bigint[]), CAST(:group_id AS bigint[])) WITH ORDINALITY
      AS said (id, queue, body, "binary", metadata, priority, group_name, dedup_key, created_at, scheduled_for, deadline,
               visible_at, parked_until, group_id, place)
),
message AS (
    INSERT INTO rowmq_messages (seq, id, queue, body, "binary", metadata, priority, group_name, dedup_key, created_at,
        scheduled_for, deadline)
    SELECT seq, id, queue, body, "binary", metadata, priority, group_name, dedup_key, created_at, scheduled_for, deadline
    FROM given
),
pending AS (
    INSERT INTO rowmq_pending (seq, queue, priority, visible_at, parked_until, group_id, deadline)
    SELECT seq, queue, priority, visible_at, parked_until, group_id, deadline FROM given
),
told AS MATERIALIZED (
    SELECT pg_notify('rowmq', current_schema() || ':' || queue) FROM unnest(CAST(:tell AS bigint[])) AS queue
)
SELECT given.seq FROM given CROSS JOIN (SELECT COUNT(*) FROM told) AS told ORDER BY given.place;

-- A whole push of messages that are due as they come, by the name of their queue: no rows, and nothing done, if there is no
-- such queue or its rules take more than this.
-- name: insert_at_once
WITH queue AS MATERIALIZED (
    SELECT id, COALESCE(CAST(:now AS bigint), CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint)) AS now
    FROM rowmq_queues WHERE name = CAST(:name AS text) AND delay = 0 AND NOT fifo AND max_length IS NULL
),
given AS MATERIALIZED (
    SELECT nextval('rowmq_messages_seq_seq') AS seq, queue.id AS queue, queue.now, said.*
    FROM queue
    CROSS JOIN unnest(CAST(:id AS uuid[]), CAST(:body AS bytea[]), CAST(:binary AS boolean[]), CAST(:metadata AS text[]),
                      CAST(:priority AS bigint[]), CAST(:deadline AS bigint[])) WITH ORDINALITY
      AS said (id, body, "binary", metadata, priority, deadline, place)
),
message AS (
    INSERT INTO rowmq_messages (seq, id, queue, body, "binary", metadata, priority, created_at, deadline)
    SELECT seq, id, queue, body, "binary", metadata, priority, now, deadline FROM given
),
pending AS (
    INSERT INTO rowmq_pending (seq, queue, priority, visible_at, deadline)
    SELECT seq, queue, priority, now, deadline FROM given
),
told AS MATERIALIZED (
    SELECT pg_notify('rowmq', current_schema() || ':' || id) FROM queue WHERE id IS DISTINCT FROM CAST(:told AS bigint)
)
SELECT given.queue, given.seq FROM given CROSS JOIN (SELECT COUNT(*) FROM told) AS told ORDER BY given.place;

-- name: messages_by_id
SELECT id, seq, queue, body, "binary", metadata FROM rowmq_messages
WHERE id = ANY(CAST(:ids AS uuid[]));

-- name: dedup_find
SELECT dedup_key, id, seq FROM rowmq_dedup
WHERE queue = :queue AND dedup_key = ANY(CAST(:keys AS text[])) AND expires_at > :now;

-- name: dedup_clear
DELETE FROM rowmq_dedup WHERE queue = :queue AND dedup_key = ANY(CAST(:keys AS text[])) AND expires_at <= :now;

-- name: dedup_put
INSERT INTO rowmq_dedup (queue, dedup_key, id, seq, expires_at) VALUES (:queue, :key, :id, :seq, :expires_at);

-- name: queue_lock
SELECT id FROM rowmq_queues WHERE id = :queue FOR UPDATE;

-- name: queue_length
SELECT COUNT(*) FROM (SELECT 1 FROM rowmq_pending WHERE queue = :queue LIMIT :limit) AS waiting;

-- name: group_make
INSERT INTO rowmq_groups (queue, name) VALUES (:queue, :name) ON CONFLICT DO NOTHING;

-- name: group_find
SELECT id, name FROM rowmq_groups WHERE queue = :queue AND name = ANY(CAST(:names AS text[]))
ORDER BY id FOR UPDATE;

-- name: group_lock
SELECT id FROM rowmq_groups WHERE id = ANY(CAST(:groups AS bigint[])) ORDER BY id FOR UPDATE;

-- Subqueries with one row instead of EXISTS, which would be planned as a join with the whole table.
-- name: group_heads
SELECT g.id FROM unnest(CAST(:groups AS bigint[])) AS g (id)
WHERE (SELECT 1 FROM rowmq_pending WHERE group_id = g.id AND visible_at IS NOT NULL LIMIT 1) IS NOT NULL;

-- Sorted by visible_at too, though it is NULL, for that is the order of the index.
-- name: group_heirs
SELECT (SELECT seq FROM rowmq_pending WHERE group_id = g.id AND visible_at IS NULL ORDER BY visible_at, seq LIMIT 1)
FROM unnest(CAST(:groups AS bigint[])) AS g (id)
WHERE (SELECT 1 FROM rowmq_pending WHERE group_id = g.id AND visible_at IS NOT NULL LIMIT 1) IS NULL;

-- name: unpark
UPDATE rowmq_pending SET visible_at = GREATEST(parked_until, :now), parked_until = NULL WHERE seq = ANY(CAST(:seqs AS bigint[]));

-- Claim -------------------------------------------------------------------------------------------------

-- One range of the index for each priority, from its floor on. Asking for all at once by time would walk over
-- everything that is scheduled for later. OFFSET 0 has each message looked up, here and below: a plain join would go through
-- all messages, for each row anew, whenever the planner believes that there are none.
-- name: pick
WITH due AS MATERIALIZED (
    SELECT p.*
    FROM unnest(CAST(:priorities AS bigint[]), CAST(:floors AS bigint[])) AS f (priority, floor)
    CROSS JOIN LATERAL (
        SELECT * FROM rowmq_pending
        WHERE queue = :queue AND priority = f.priority AND visible_at >= f.floor AND visible_at <= :now
        ORDER BY visible_at, seq + 0 LIMIT :limit
        FOR UPDATE SKIP LOCKED
    ) AS p
    LIMIT :limit
)
SELECT p.seq, p.queue, p.priority, p.visible_at, p.parked_until, p.group_id, p.attempts, p.receives, p.token, p.consumer,
       p.claimed_at, p.deadline, p.source, m.created_at, m.group_name,
       uuid_send(m.id), m.body, m.binary, m.metadata
FROM due p CROSS JOIN LATERAL (SELECT * FROM rowmq_messages WHERE seq = p.seq OFFSET 0) AS m;

-- name: take
UPDATE rowmq_pending
SET token = :token, attempts = attempts + 1, receives = receives + 1, consumer = :consumer, claimed_at = :now,
    visible_at = CASE WHEN visible_at IS NULL THEN NULL
                      WHEN deadline > :now AND deadline < :until THEN deadline ELSE :until END,
    parked_until = CASE WHEN visible_at IS NOT NULL THEN NULL
                        WHEN deadline > :now AND deadline < :until THEN deadline ELSE :until END
WHERE seq = ANY(CAST(:seqs AS bigint[]));

-- Before a large claim, and sent together with it: nobody holds a turn while a client thinks.
-- name: take_turn
SELECT set_config('lock_timeout', :turn, TRUE),
       pg_advisory_xact_lock(hashtext('rowmq turns of ' || current_schema()), CAST(:queue AS integer));

-- A whole claim on a queue by its name, where no rule can forbid a delivery: the queue has none that could, and of what is due
-- nothing has vanished with its holder or was tried often enough. Otherwise nothing is taken, and the first row says so. That row
-- is about the queue: key, max_attempts, lease, now, odd. (PostgreSQL runs the parts of such a UNION ALL one after the other.) The
-- others are messages, each with what is not as usual about it: NULL, or visible_at and the columns of USUAL (sql/usual.py, in that
-- order). Floors are those of the queue that is known by this name; it may be another by now. Each has a seq too, because all of a
-- large push are due at one time.
-- What is due is kept as narrow as it can be, and nothing else joined with the rows: an UPDATE copies whatever it is joined with,
-- row by row. All but the time at which a row was due is read from the leased one.
-- name: claim_at_once
WITH queue AS MATERIALIZED (
    SELECT id, max_attempts, COALESCE(CAST(:lease AS bigint), lease) AS lease,
           COALESCE(CAST(:now AS bigint), CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint)) AS now
    FROM rowmq_queues
    WHERE name = CAST(:name AS text) AND NOT paused AND rate_limit IS NULL AND max_age IS NULL AND delivery = 'at_least_once'
),
due AS MATERIALIZED (
    SELECT p.*
    FROM queue
    CROSS JOIN unnest(CAST(:priorities AS bigint[]), CAST(:floors AS bigint[]), CAST(:lasts AS bigint[])) AS f (priority, floor, last)
    CROSS JOIN LATERAL (
        SELECT ctid AS place, visible_at, attempts, token IS NOT NULL AS held FROM rowmq_pending
        WHERE queue = queue.id AND priority = f.priority AND visible_at <= queue.now
          AND (visible_at, seq + 0) >= (CASE WHEN queue.id = :known AND f.floor <= queue.now THEN f.floor ELSE 0 END, f.last)
        ORDER BY visible_at, seq + 0 LIMIT :limit
        FOR UPDATE SKIP LOCKED
    ) AS p
    LIMIT :limit
),
odd AS MATERIALIZED (
    SELECT EXISTS (SELECT FROM due WHERE held OR attempts >= (SELECT max_attempts FROM queue)) AS odd
),
taken AS (
    UPDATE rowmq_pending p
    SET token = :token, attempts = p.attempts + 1, receives = p.receives + 1, consumer = :consumer,
        claimed_at = (SELECT now FROM queue),
        visible_at = CASE WHEN p.deadline > (SELECT now FROM queue) AND p.deadline < (SELECT now + lease FROM queue) THEN p.deadline
                          ELSE (SELECT now + lease FROM queue) END
    FROM due
    WHERE p.ctid = due.place AND NOT (SELECT odd FROM odd)
    RETURNING p.seq, p.priority, due.visible_at, p.attempts - 1 AS attempts, p.receives - 1 AS receives, p.deadline, p.source
)
SELECT CAST(NULL AS bigint) AS seq, CAST(NULL AS bigint) AS created_at, CAST(NULL AS bytea) AS id, CAST(NULL AS bytea) AS body,
       CAST(json_build_array(queue.id, queue.max_attempts, queue.lease, queue.now, odd.odd) AS text) AS said
FROM queue CROSS JOIN odd
UNION ALL
SELECT p.seq, m.created_at, uuid_send(m.id), m.body,
       CASE WHEN p.visible_at <> m.created_at OR p.priority <> 0 OR p.attempts > 0 OR p.receives > 0 OR m.binary
                 OR p.deadline IS NOT NULL OR p.source IS NOT NULL OR m.group_name IS NOT NULL OR m.metadata IS NOT NULL
            THEN CAST(json_build_array(p.visible_at, p.priority, p.attempts, p.receives, p.deadline, p.source, m.group_name, m.binary,
                                       m.metadata) AS text) END
FROM taken p CROSS JOIN LATERAL (SELECT * FROM rowmq_messages WHERE seq = p.seq OFFSET 0) AS m;

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
      AND (visible_at, seq + 0) > (:time, :seq)
    ORDER BY visible_at, seq + 0 LIMIT :look
) AS due
CROSS JOIN LATERAL (SELECT * FROM rowmq_messages WHERE seq = due.seq OFFSET 0) AS m
WHERE 1 = 1 /*and*/
ORDER BY due.visible_at, due.seq LIMIT :limit;

-- name: candidates_end
SELECT visible_at, seq FROM rowmq_pending
WHERE queue = :queue AND priority = :priority AND visible_at >= :time AND visible_at <= :now
  AND (visible_at, seq + 0) > (:time, :seq)
ORDER BY visible_at, seq + 0 LIMIT 1 OFFSET :skip;

-- name: lock
SELECT p.seq, p.queue, p.priority, p.visible_at, p.parked_until, p.group_id, p.attempts, p.receives, p.token, p.consumer,
       p.claimed_at, p.deadline, p.source, m.created_at, m.group_name,
       uuid_send(m.id), m.body, m.binary, m.metadata
FROM rowmq_pending p CROSS JOIN LATERAL (SELECT * FROM rowmq_messages WHERE seq = p.seq OFFSET 0) AS m
WHERE p.seq = ANY(CAST(:seqs AS bigint[])) AND p.visible_at <= :now
FOR UPDATE OF p SKIP LOCKED;

-- name: next_parked
SELECT p.seq, p.queue, p.priority, p.visible_at, p.parked_until, p.group_id, p.attempts, p.receives, p.token, p.consumer,
       p.claimed_at, p.deadline, p.source, m.created_at, m.group_name,
       uuid_send(m.id), m.body, m.binary, m.metadata
FROM rowmq_pending p CROSS JOIN LATERAL (SELECT * FROM rowmq_messages WHERE seq = p.seq OFFSET 0) AS m
WHERE p.group_id = :group AND p.visible_at IS NULL AND p.seq > :after
ORDER BY p.visible_at, p.seq LIMIT :limit
FOR UPDATE OF p;

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
UPDATE rowmq_pending SET token = :token WHERE seq = ANY(CAST(:seqs AS bigint[])) AND token = :old;

-- name: held_by
SELECT p.seq, p.queue, p.priority, p.visible_at, p.parked_until, p.group_id, p.attempts, p.receives, p.token, p.consumer,
       p.claimed_at, p.deadline, p.source, m.created_at, m.group_name,
       uuid_send(m.id), m.body, m.binary, m.metadata
FROM rowmq_pending p CROSS JOIN LATERAL (SELECT * FROM rowmq_messages WHERE seq = p.seq OFFSET 0) AS m
WHERE p.seq = ANY(CAST(:seqs AS bigint[])) AND p.token = :token;

-- Extend and settle -------------------------------------------------------------------------------------

-- name: hold
SELECT p.seq, p.queue, p.priority, p.visible_at, p.parked_until, p.group_id, p.attempts, p.receives, p.token, p.consumer,
       p.claimed_at, p.deadline, p.source, m.created_at, m.group_name
FROM rowmq_pending p CROSS JOIN LATERAL (SELECT * FROM rowmq_messages WHERE seq = p.seq OFFSET 0) AS m
WHERE p.seq = ANY(CAST(:seqs AS bigint[]))
ORDER BY p.seq FOR UPDATE OF p;

-- name: renew
UPDATE rowmq_pending
SET visible_at = CASE WHEN visible_at IS NULL THEN NULL ELSE :until END,
    parked_until = CASE WHEN visible_at IS NULL THEN :until ELSE NULL END
WHERE seq = ANY(CAST(:seqs AS bigint[]));

-- Groups, fifo queues and queues that drop their payloads need more than this: they are left to the slower way.
-- The seqs are in order, and the tokens, 16 bytes each, stand one behind the other: a row finds its own without a join. A join
-- would go the wrong way round, every row of the table with every receipt, whenever the planner believes the table to be empty.
-- Most often all are of one queue: that of the first is looked at once, and only other ones row by row. The answer is one list.
-- The rows' seqs are selected, so that the planner does not count them: for few it would make a new plan at every ack.
-- name: ack
WITH gone AS (
    DELETE FROM rowmq_pending p
    WHERE p.seq = ANY(CAST((SELECT CAST(:seqs AS bigint[])) AS bigint[]))
      AND p.token = substring(CAST(:tokens AS bytea) FROM 16 * width_bucket(p.seq, CAST(:seqs AS bigint[])) - 15 FOR 16)
      AND p.group_id IS NULL
      AND (p.queue = (SELECT q.id FROM rowmq_queues q
                      WHERE q.id = (SELECT first.queue FROM rowmq_pending first WHERE first.seq = (CAST(:seqs AS bigint[]))[1])
                        AND (q.retention = 0 OR q.fifo) IS NOT TRUE)
           OR (SELECT q.retention = 0 OR q.fifo FROM rowmq_queues q WHERE q.id = p.queue) IS NOT TRUE)
    RETURNING p.seq, p.queue, p.attempts, p.receives, p.token, p.consumer, p.claimed_at, p.source
),
done AS (
    INSERT INTO rowmq_outcomes (seq, queue, state, finished_at, attempts, receives, token, consumer, started_at, source)
    SELECT seq, queue, 'done',
           (SELECT COALESCE(CAST(:now AS bigint), CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS bigint))),
           attempts, receives, token, consumer, claimed_at, source
    FROM gone
)
SELECT array_agg(seq) FROM gone;

-- name: finish
INSERT INTO rowmq_outcomes (seq, queue, state, reason, finished_at, attempts, receives, token, consumer, started_at, source)
SELECT seq, queue, CAST(:state AS text), CAST(:reason AS text), CAST(:now AS bigint), attempts, receives, token, consumer,
       claimed_at, source
FROM rowmq_pending WHERE seq = ANY(CAST(:seqs AS bigint[]));

-- name: keep_result
UPDATE rowmq_outcomes SET result = :result WHERE seq = :seq;

-- name: unpend
DELETE FROM rowmq_pending WHERE seq = ANY(CAST(:seqs AS bigint[]));

-- name: forget
UPDATE rowmq_messages SET body = NULL WHERE seq = ANY(CAST(:seqs AS bigint[]));

-- name: postpone
UPDATE rowmq_pending
SET visible_at = CASE WHEN visible_at IS NULL THEN NULL ELSE :at END,
    parked_until = CASE WHEN visible_at IS NULL THEN :at ELSE NULL END,
    attempts = attempts - :refund, token = NULL, consumer = NULL, claimed_at = NULL
WHERE seq = ANY(CAST(:seqs AS bigint[]));

-- name: move
UPDATE rowmq_pending
SET queue = :queue, visible_at = :now, parked_until = NULL, group_id = NULL, attempts = 0, token = NULL, consumer = NULL,
    claimed_at = NULL, source = :source, reason = :reason
WHERE seq = ANY(CAST(:seqs AS bigint[]));

-- name: move_into_group
UPDATE rowmq_pending
SET queue = :queue, visible_at = CASE WHEN :parked THEN NULL ELSE :now END, parked_until = CASE WHEN :parked THEN :now END,
    group_id = :group_id, attempts = 0, token = NULL, consumer = NULL, claimed_at = NULL, source = :source, reason = :reason
WHERE seq = :seq;

-- name: fail
INSERT INTO rowmq_failures (seq, attempt, queue, consumer, started_at, ended_at, error)
VALUES (:seq, :attempt, :queue, :consumer, :started_at, :ended_at, :error);

-- name: acked_by
SELECT seq, token FROM rowmq_outcomes WHERE seq = ANY(CAST(:seqs AS bigint[])) AND state = 'done';

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
SELECT seq FROM (SELECT seq FROM rowmq_pending WHERE queue = :queue LIMIT :limit FOR UPDATE) AS waiting
UNION ALL
SELECT seq FROM (SELECT seq FROM rowmq_outcomes WHERE queue = :queue LIMIT :limit FOR UPDATE) AS finished
LIMIT :limit;

-- name: erase_pending
DELETE FROM rowmq_pending WHERE seq = ANY(CAST(:seqs AS bigint[]));

-- name: erase_outcomes
DELETE FROM rowmq_outcomes WHERE seq = ANY(CAST(:seqs AS bigint[]));

-- name: erase_failures
DELETE FROM rowmq_failures WHERE seq = ANY(CAST(:seqs AS bigint[]));

-- name: erase_messages
DELETE FROM rowmq_messages WHERE seq = ANY(CAST(:seqs AS bigint[]));

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
FROM rowmq_pending p CROSS JOIN LATERAL (SELECT * FROM rowmq_messages WHERE seq = p.seq OFFSET 0) AS m
WHERE p.queue = :queue /*and*/
LIMIT :limit
FOR UPDATE OF p SKIP LOCKED;

-- name: purge_finished
SELECT o.seq, NULL
FROM rowmq_outcomes o CROSS JOIN LATERAL (SELECT * FROM rowmq_messages WHERE seq = o.seq OFFSET 0) AS m
WHERE o.queue = :queue AND o.state = :state /*and*/
LIMIT :limit
FOR UPDATE OF o SKIP LOCKED;

-- name: count_pending
SELECT COUNT(*) FILTER (WHERE time <= :now), COUNT(*) FILTER (WHERE time > :now AND token IS NULL),
       COUNT(*) FILTER (WHERE time > :now AND token IS NOT NULL), MIN(time) FILTER (WHERE time <= :now)
FROM (SELECT COALESCE(visible_at, parked_until) AS time, token FROM rowmq_pending WHERE queue = :queue) AS owed;

-- name: count_finished
SELECT state, COUNT(*) FROM rowmq_outcomes WHERE queue = :queue GROUP BY state;

-- Topics ------------------------------------------------------------------------------------------------

-- name: topic_find
SELECT id, bound_at FROM rowmq_topics WHERE name = :name;

-- name: topic_make
INSERT INTO rowmq_topics (name) VALUES (:name) ON CONFLICT DO NOTHING;

-- name: topic_alone
SELECT pg_advisory_xact_lock(hashtext('rowmq topics of ' || current_schema()), CAST(:topic AS integer));

-- name: topic_share
SELECT pg_advisory_xact_lock_shared(hashtext('rowmq topics of ' || current_schema()), CAST(:topic AS integer));

-- name: topic_bound
UPDATE rowmq_topics SET bound_at = :at WHERE id = :topic;

-- name: topic_queues
SELECT q.name FROM rowmq_bindings b JOIN rowmq_queues q ON q.id = b.queue WHERE b.topic = :topic;

-- name: topics_over
SELECT t.name FROM rowmq_topics t JOIN rowmq_queues q ON q.name = CAST(:prefix AS text) || t.name
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
FROM rowmq_pending p CROSS JOIN LATERAL (SELECT * FROM rowmq_messages WHERE seq = p.seq OFFSET 0) AS m
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
SELECT seq FROM rowmq_outcomes WHERE queue = :queue AND state = 'dead' AND seq > :after ORDER BY seq LIMIT :limit
FOR UPDATE SKIP LOCKED;

-- name: lettered_of_queue
SELECT p.seq, p.source FROM rowmq_pending p
WHERE p.queue = :queue AND p.source IS NOT NULL AND p.seq > :after /*and*/
ORDER BY p.seq LIMIT :limit
FOR UPDATE OF p SKIP LOCKED;

-- name: dead_among
SELECT seq, queue FROM rowmq_outcomes WHERE seq = ANY(CAST(:seqs AS bigint[])) AND state = 'dead'
ORDER BY seq FOR UPDATE;

-- name: finished_of
SELECT seq, queue, finished_at FROM rowmq_outcomes WHERE seq = ANY(CAST(:seqs AS bigint[])) ORDER BY seq FOR UPDATE;

-- name: revive
INSERT INTO rowmq_pending (seq, queue, priority, visible_at, receives, deadline)
SELECT o.seq, CAST(:queue AS bigint), m.priority, CAST(:now AS bigint), o.receives, m.deadline
FROM rowmq_outcomes o CROSS JOIN LATERAL (SELECT * FROM rowmq_messages WHERE seq = o.seq OFFSET 0) AS m
WHERE o.seq = ANY(CAST(:seqs AS bigint[])) AND o.state = 'dead';

-- name: unfinish
DELETE FROM rowmq_outcomes WHERE seq = ANY(CAST(:seqs AS bigint[])) AND state = 'dead';

-- name: reset
UPDATE rowmq_pending
SET visible_at = CASE WHEN visible_at IS NULL THEN NULL ELSE :now END,
    parked_until = CASE WHEN visible_at IS NULL THEN :now ELSE NULL END,
    attempts = 0, token = NULL, consumer = NULL, claimed_at = NULL
WHERE seq = ANY(CAST(:seqs AS bigint[]));

-- name: unletter
UPDATE rowmq_pending SET source = NULL, reason = NULL WHERE seq = ANY(CAST(:seqs AS bigint[]));

-- name: bounds
SELECT (SELECT MIN(seq) FROM rowmq_messages), (SELECT MAX(seq) FROM rowmq_messages);

-- name: mark_archived
UPDATE rowmq_outcomes SET archived_at = :now WHERE seq = ANY(CAST(:seqs AS bigint[])) AND archived_at IS NULL;

-- name: ledger
SELECT at, queue, action, count, first_seq, last_seq FROM rowmq_ledger ORDER BY id;

-- Sweep -------------------------------------------------------------------------------------------------

-- The queues in which something may be overdue by the strictest rules of any: one walk over all that waits, in
-- the order in which it is stored.
-- name: sweep_queues
SELECT p.queue FROM rowmq_pending p
WHERE p.visible_at <= :now AND (p.attempts >= :most OR (:final AND p.token IS NOT NULL))
UNION
SELECT p.queue FROM rowmq_pending p CROSS JOIN LATERAL (SELECT * FROM rowmq_messages WHERE seq = p.seq OFFSET 0) AS m
WHERE (:final OR :oldest >= 0) AND (p.token IS NULL OR COALESCE(p.visible_at, p.parked_until) <= :now)
  AND ((:final AND p.deadline <= :now) OR m.created_at <= :oldest);

-- A live lease is left alone; age and deadline do not wait for anything else. What is due is found by the
-- index, and only where age or deadline count is everything looked at. The conditions are asked again of the
-- locked rows.
-- name: sweep_overdue
WITH overdue AS MATERIALIZED (
    SELECT due.seq
    FROM generate_series(0, 9) AS f (priority)
    CROSS JOIN LATERAL (
        SELECT seq FROM rowmq_pending
        WHERE queue = :queue AND priority = f.priority AND visible_at <= :now
          AND (attempts >= :most OR (:final AND token IS NOT NULL))
        LIMIT :limit
    ) AS due
    UNION
    SELECT p.seq
    FROM rowmq_pending p CROSS JOIN LATERAL (SELECT * FROM rowmq_messages WHERE seq = p.seq OFFSET 0) AS m
    WHERE (:final OR :oldest >= 0) AND p.queue = :queue
      AND (p.token IS NULL OR COALESCE(p.visible_at, p.parked_until) <= :now)
      AND ((:final AND p.deadline <= :now) OR m.created_at <= :oldest)
    LIMIT :limit
)
SELECT p.seq, p.queue, p.priority, p.visible_at, p.parked_until, p.group_id, p.attempts, p.receives, p.token, p.consumer,
       p.claimed_at, p.deadline, p.source, m.created_at, m.group_name
FROM rowmq_pending p CROSS JOIN LATERAL (SELECT * FROM rowmq_messages WHERE seq = p.seq OFFSET 0) AS m
WHERE p.seq = ANY(ARRAY(SELECT seq FROM overdue)) AND p.queue = :queue
  AND ((p.visible_at <= :now AND (p.attempts >= :most OR (:final AND p.token IS NOT NULL)))
    OR ((p.token IS NULL OR COALESCE(p.visible_at, p.parked_until) <= :now)
        AND ((:final AND p.deadline <= :now) OR m.created_at <= :oldest)))
ORDER BY p.seq
FOR UPDATE OF p SKIP LOCKED;

-- name: sweep_finished
SELECT seq FROM rowmq_outcomes
WHERE queue = :queue AND state IN ('done', 'dead') AND finished_at <= :before AND (archived_at IS NOT NULL OR NOT :archived)
ORDER BY finished_at LIMIT :limit
FOR UPDATE SKIP LOCKED;

-- name: orphan_queues
WITH RECURSIVE present (queue) AS (
    SELECT MIN(queue) FROM rowmq_pending
    UNION ALL
    SELECT (SELECT MIN(queue) FROM rowmq_pending WHERE queue > present.queue) FROM present WHERE present.queue IS NOT NULL
)
SELECT queue FROM present WHERE queue IS NOT NULL AND queue NOT IN (SELECT id FROM rowmq_queues);

-- name: sweep_dedup
DELETE FROM rowmq_dedup
WHERE (queue, dedup_key) IN (SELECT queue, dedup_key FROM rowmq_dedup WHERE expires_at <= :now LIMIT :limit
                             FOR UPDATE SKIP LOCKED);

-- name: sweep_claims
DELETE FROM rowmq_claims WHERE name IN (SELECT name FROM rowmq_claims WHERE created_at <= :before LIMIT :limit
                                            FOR UPDATE SKIP LOCKED);

-- name: sweep_consumers
DELETE FROM rowmq_consumers WHERE alive_until <= :now;

-- name: sweep_leads
DELETE FROM rowmq_leads WHERE until <= :now;

-- name: sweep_groups
SELECT id FROM rowmq_groups g
WHERE NOT EXISTS (SELECT 1 FROM rowmq_pending WHERE group_id = g.id) LIMIT :limit
FOR UPDATE OF g SKIP LOCKED;

-- name: sweep_groups_delete
DELETE FROM rowmq_groups
WHERE id = ANY(CAST(:groups AS bigint[])) AND NOT EXISTS (SELECT 1 FROM rowmq_pending WHERE group_id = rowmq_groups.id);

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
DELETE FROM rowmq_stages
WHERE (job, stage, part) IN (SELECT job, stage, part FROM rowmq_stages WHERE created_at <= :before LIMIT :limit
                             FOR UPDATE SKIP LOCKED);

-- name: sweep_batches
DELETE FROM rowmq_batches WHERE name IN (SELECT name FROM rowmq_batches WHERE at <= :before LIMIT :limit FOR UPDATE SKIP LOCKED);

-- Monitor -----------------------------------------------------------------------------------------------

-- For one transaction: a look that is bounded must not be planned as one through everything.
-- name: keep_to_indexes
SELECT set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
       set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true),
       set_config('enable_sort', 'off', true);

-- name: count_some
SELECT q.id, owed.*, dead.*
FROM unnest(CAST(:queues AS bigint[])) AS q (id)
CROSS JOIN LATERAL (
    SELECT COUNT(*) FILTER (WHERE time <= :now), COUNT(*) FILTER (WHERE time > :now AND token IS NULL),
           COUNT(*) FILTER (WHERE time > :now AND token IS NOT NULL), MIN(time) FILTER (WHERE time <= :now)
    FROM (SELECT COALESCE(visible_at, parked_until) AS time, token FROM rowmq_pending WHERE queue = q.id LIMIT :limit) AS counted
) AS owed
CROSS JOIN LATERAL (
    SELECT COUNT(*) FROM (SELECT FROM rowmq_outcomes WHERE queue = q.id AND state = 'dead' LIMIT :limit) AS counted
) AS dead;

-- Where there are more than are counted, each state is counted for itself, by priority.
-- name: count_due
SELECT COUNT(*), 0, 0, MIN(visible_at)
FROM (SELECT visible_at FROM rowmq_pending WHERE queue = :queue AND priority = :priority AND visible_at <= :now
      ORDER BY visible_at LIMIT :limit) AS due;

-- name: count_later
SELECT 0, COUNT(*) FILTER (WHERE token IS NULL), COUNT(*) FILTER (WHERE token IS NOT NULL), NULL
FROM (SELECT token FROM rowmq_pending WHERE queue = :queue AND priority = :priority AND visible_at > :now
      ORDER BY visible_at LIMIT :limit) AS later;

-- name: count_parked
SELECT COUNT(*) FILTER (WHERE time <= :now), COUNT(*) FILTER (WHERE time > :now AND token IS NULL), COUNT(*) FILTER (WHERE time > :now AND token IS NOT NULL),
       MIN(time) FILTER (WHERE time <= :now)
FROM (SELECT parked_until AS time, token FROM rowmq_pending
      WHERE queue = :queue AND priority = :priority AND visible_at IS NULL LIMIT :limit) AS parked;

-- The index does not have the seq: of those that ended in one moment all are sorted.
-- name: page_finished
SELECT finished_at, seq FROM rowmq_outcomes
WHERE queue = :queue AND state = :state AND finished_at >= :since AND finished_at <= :time
  AND (finished_at, seq) < (:time, :seq)
ORDER BY finished_at DESC, seq DESC LIMIT :look;

-- name: page_owed
SELECT visible_at, seq, token IS NOT NULL FROM rowmq_pending
WHERE queue = :queue AND priority = :priority AND visible_at >= :time AND visible_at <= :last
  AND (visible_at, seq + 0) > (:time, :seq)
ORDER BY visible_at, seq + 0 LIMIT :look;

-- name: page_parked
SELECT parked_until, seq, token IS NOT NULL FROM rowmq_pending
WHERE queue = :queue AND priority = :priority AND visible_at IS NULL AND seq + 0 > :seq
ORDER BY visible_at, seq + 0 LIMIT :look;

-- name: page_matching
SELECT m.seq FROM rowmq_messages m WHERE m.seq = ANY(CAST(:seqs AS bigint[])) /*and*/;

-- Not queue = :queue: then the key alone would be in order, and all queues' failures be gone through by it.
-- name: page_failed
SELECT id, seq, strpos(lower(error), lower(CAST(:text AS text))) > 0
FROM rowmq_failures
WHERE queue >= :queue AND (queue, id) < (:queue, :before)
ORDER BY queue DESC, id DESC LIMIT :look;

-- Messages that were found at a later failure already.
-- name: page_failed_before
SELECT m.seq FROM rowmq_messages m
WHERE m.seq = ANY(CAST(:seqs AS bigint[]))
  AND EXISTS (SELECT 1 FROM rowmq_failures f WHERE f.seq = m.seq AND f.id >= :place AND f.queue = :queue AND strpos(lower(f.error), lower(CAST(:text AS text))) > 0);

-- name: records_owed
SELECT m.seq, m.id, q.name, NULL, substring(m.body, 1, CAST(:excerpt AS integer)), m.binary, m.metadata, m.priority, m.group_name, m.dedup_key, m.created_at,
       m.scheduled_for, m.deadline, COALESCE(p.visible_at, p.parked_until), p.token IS NOT NULL, p.attempts, p.receives,
       p.consumer, p.claimed_at, NULL, p.reason, p.source, NULL
FROM rowmq_pending p CROSS JOIN LATERAL (SELECT * FROM rowmq_messages WHERE seq = p.seq OFFSET 0) AS m JOIN rowmq_queues q ON q.id = p.queue
WHERE p.seq = ANY(CAST(:seqs AS bigint[]));

-- name: records_finished
SELECT m.seq, m.id, q.name, o.state, substring(m.body, 1, CAST(:excerpt AS integer)), m.binary, m.metadata, m.priority, m.group_name, m.dedup_key, m.created_at,
       m.scheduled_for, m.deadline, NULL, NULL, o.attempts, o.receives, o.consumer, o.started_at, o.finished_at, o.reason, o.source, NULL
FROM rowmq_outcomes o CROSS JOIN LATERAL (SELECT * FROM rowmq_messages WHERE seq = o.seq OFFSET 0) AS m JOIN rowmq_queues q ON q.id = o.queue
WHERE o.seq = ANY(CAST(:seqs AS bigint[]));

-- name: failures_newest
SELECT (SELECT MAX(f.id) FROM rowmq_failures f WHERE f.seq = m.seq) FROM rowmq_messages m WHERE m.seq = ANY(CAST(:seqs AS bigint[]));

-- name: failures_last
SELECT id FROM rowmq_failures WHERE seq = :seq ORDER BY id DESC LIMIT :limit;

-- name: failures_count
SELECT COUNT(*) FROM (SELECT 1 FROM rowmq_failures WHERE seq = :seq LIMIT :most) AS counted;

-- name: failures_shown
SELECT seq, attempt, queue, consumer, started_at, ended_at,
       CASE WHEN length(error) <= :longest THEN error ELSE left(error, CAST(:half AS integer)) || CAST(:gap AS text) || right(error, CAST(:half AS integer)) END, octet_length(error), length(error) > :longest
FROM rowmq_failures WHERE id = ANY(CAST(:ids AS bigint[])) ORDER BY id;

-- The body is in base64, with up to two signs that fill it up.
-- name: plans
SELECT s.name, q.name, s.spec, s.next_at, s.paused, substr((CAST(s.message AS json) ->> 'body'), 1, CAST(:excerpt AS integer)), CAST(CAST(s.message AS json) ->> 'binary' AS boolean),
       length(RTRIM((CAST(s.message AS json) ->> 'body'), '='))
FROM rowmq_schedules s JOIN rowmq_queues q ON q.id = s.queue
WHERE CAST(:queue AS text) IS NULL OR q.name = :queue
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
SELECT q.id,
       (SELECT COUNT(*) FROM rowmq_outcomes
        WHERE queue = q.id AND state = 'done' AND finished_at >= :first AND finished_at < :end),
       (SELECT COUNT(*) FROM rowmq_outcomes
        WHERE queue = q.id AND state = 'dead' AND finished_at >= :first AND finished_at < :end)
FROM unnest(CAST(:queues AS bigint[])) AS q (id);

-- name: sample_times
SELECT m.created_at, m.scheduled_for, ended.started_at, ended.finished_at
FROM (SELECT seq, started_at, finished_at FROM rowmq_outcomes
      WHERE queue = :queue AND state = :state AND finished_at >= :first AND finished_at < :end
      ORDER BY finished_at DESC LIMIT :limit) AS ended
CROSS JOIN LATERAL (SELECT * FROM rowmq_messages WHERE seq = ended.seq OFFSET 0) AS m;

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
SELECT 'PostgreSQL ' || current_setting('server_version');

-- name: last_migration
SELECT name FROM rowmq_migrations ORDER BY number DESC LIMIT 1;

-- name: settings
SELECT name, setting FROM pg_settings WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit') ORDER BY name;

-- name: sizes
SELECT COALESCE(root.relname, t.relname), CAST(SUM(pg_total_relation_size(t.oid)) AS bigint)
FROM pg_class t LEFT JOIN pg_class root ON root.oid = pg_partition_root(t.oid)
WHERE t.relnamespace = CAST(quote_ident(current_schema()) AS regnamespace) AND t.relkind IN ('r', 'p') AND starts_with(t.relname, 'rowmq_')
GROUP BY 1 ORDER BY 1;

-- Partitions --------------------------------------------------------------------------------------------

-- name: partitioned
SELECT to_regclass('rowmq_days') IS NOT NULL;

-- name: days_lock
SELECT pg_advisory_xact_lock(hashtext('rowmq days of ' || current_schema()));

-- name: days
SELECT day FROM rowmq_days ORDER BY day;

-- name: make_day
SELECT rowmq_make_day(:day);

-- name: start_day
SELECT setval('rowmq_messages_seq_seq', :base, false) FROM rowmq_messages_seq_seq WHERE last_value < :base;

-- name: day_is_needed
SELECT EXISTS (SELECT FROM rowmq_pending WHERE seq >= :first AND seq < :last)
    OR EXISTS (SELECT FROM rowmq_outcomes o JOIN rowmq_queues q ON q.id = o.queue
               WHERE o.seq >= :first AND o.seq < :last
                 AND (q.retention IS NULL OR o.finished_at > :now - COALESCE(NULLIF(q.retention, 0), :ids_kept)
                      OR (q.archive = 'required' AND o.archived_at IS NULL)));

-- name: lock_day
SELECT rowmq_lock_day(:day);

-- name: day_counts
SELECT q.name, COUNT(*), MIN(o.seq), MAX(o.seq)
FROM rowmq_outcomes o JOIN rowmq_queues q ON q.id = o.queue
WHERE o.seq >= :first AND o.seq < :last
GROUP BY q.name ORDER BY q.name;

-- name: drop_day
SELECT rowmq_drop_day(:day);
