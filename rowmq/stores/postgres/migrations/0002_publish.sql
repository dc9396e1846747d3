-- What a plain INSERT into a queue's view does. The metadata keys rowmq.key, rowmq.group and rowmq.priority
-- set the dedup key, the group and the priority. Returns NULL for a message whose key had been seen.
CREATE FUNCTION rowmq_publish(
    queue_name text,
    message_id uuid,
    payload json,
    payload_bytes bytea,
    given jsonb,
    scheduled_for timestamptz
) RETURNS uuid LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    kept     rowmq_queues%ROWTYPE;
    present  bigint := (extract(epoch FROM statement_timestamp()) * 1000000)::bigint;
    said     jsonb  := COALESCE(given, '{}');
    key      text   := said ->> 'rowmq.key';
    grouping text   := said ->> 'rowmq.group';
    urgency  text   := COALESCE(said ->> 'rowmq.priority', '0');
    id       uuid   := COALESCE(message_id, gen_random_uuid());
    due      bigint;
    holder   bigint;
    parked   boolean := false;
    number   bigint;
BEGIN
    SELECT * INTO kept FROM rowmq_queues q WHERE q.name = queue_name;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'rowmq: there is no queue "%"', queue_name;
    END IF;
    IF (payload IS NULL) = (payload_bytes IS NULL) THEN
        RAISE EXCEPTION 'rowmq: give either a payload or payload_bytes';
    END IF;
    IF jsonb_typeof(said) <> 'object' OR EXISTS (SELECT FROM jsonb_each(said) AS e WHERE jsonb_typeof(e.value) <> 'string') THEN
        RAISE EXCEPTION 'rowmq: metadata is a JSON object of strings';
    END IF;
    IF urgency !~ '^[0-9]$' THEN
        RAISE EXCEPTION 'rowmq: the priority is a whole number from 0 to 9, not "%"', urgency;
    END IF;
    IF EXISTS (SELECT FROM rowmq_dedup d WHERE d.queue = kept.id AND d.dedup_key = key AND d.expires_at > present) THEN
        RETURN NULL;
    END IF;
    IF kept.max_length IS NOT NULL THEN
        PERFORM FROM rowmq_queues q WHERE q.id = kept.id FOR UPDATE;
        IF (SELECT count(*) FROM (SELECT FROM rowmq_pending p WHERE p.queue = kept.id LIMIT kept.max_length) AS waiting) >= kept.max_length THEN
            RAISE EXCEPTION 'rowmq: the queue "%" holds at most % messages', queue_name, kept.max_length;
        END IF;
    END IF;
    IF grouping IS NOT NULL OR kept.fifo THEN
        INSERT INTO rowmq_groups (queue, name) VALUES (kept.id, COALESCE(grouping, '')) ON CONFLICT DO NOTHING;
        SELECT g.id INTO STRICT holder FROM rowmq_groups g WHERE g.queue = kept.id AND g.name = COALESCE(grouping, '') FOR UPDATE;
        parked := EXISTS (SELECT FROM rowmq_pending p WHERE p.group_id = holder AND p.visible_at IS NOT NULL);
    END IF;
    due := CASE WHEN scheduled_for IS NOT NULL THEN (extract(epoch FROM scheduled_for) * 1000000)::bigint
                WHEN kept.delay > 0 THEN present + kept.delay END;
    INSERT INTO rowmq_messages (id, queue, body, "binary", metadata, priority, group_name, dedup_key, created_at, scheduled_for)
    VALUES (id, kept.id, COALESCE(payload_bytes, convert_to(payload::text, 'UTF8')), payload IS NULL,
            NULLIF(said - 'rowmq.key' - 'rowmq.group' - 'rowmq.priority', '{}')::text, urgency::int, grouping, key, present, due)
    RETURNING seq INTO number;
    due := GREATEST(due, present);
    INSERT INTO rowmq_pending (seq, queue, priority, visible_at, parked_until, group_id)
    VALUES (number, kept.id, urgency::int, CASE WHEN NOT parked THEN due END, CASE WHEN parked THEN due END, holder);
    IF key IS NOT NULL THEN
        DELETE FROM rowmq_dedup d WHERE d.queue = kept.id AND d.dedup_key = key AND d.expires_at <= present;
        INSERT INTO rowmq_dedup (queue, dedup_key, id, seq, expires_at) VALUES (kept.id, key, id, number, present + 300000000);
    END IF;
    PERFORM pg_notify('rowmq', current_schema() || ':' || kept.id);
    RETURN id;
END
$$;

-- The trigger of every view: its argument is the queue's name.
CREATE FUNCTION rowmq_insert() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    NEW.id := rowmq_publish(TG_ARGV[0], NEW.id, NEW.payload, NEW.payload_bytes, NEW.metadata, NEW.scheduled_for);
    RETURN CASE WHEN NEW.id IS NOT NULL THEN NEW END;
END
$$;
