-- Run once, right after the first migrations, when partitions were asked for: messages and outcomes become
-- tables of daily partitions. A day owns the seqs from day * 2^33 on, the day being counted from 1970-01-01.

CREATE TABLE rowmq_messages_daily (LIKE rowmq_messages INCLUDING COMPRESSION) PARTITION BY RANGE (seq);
DROP TABLE rowmq_messages;
ALTER TABLE rowmq_messages_daily RENAME TO rowmq_messages;
CREATE SEQUENCE rowmq_messages_seq_seq OWNED BY rowmq_messages.seq;
ALTER TABLE rowmq_messages ALTER seq SET DEFAULT nextval('rowmq_messages_seq_seq'), ADD PRIMARY KEY (seq);
CREATE INDEX rowmq_messages_id ON rowmq_messages (id);

CREATE TABLE rowmq_outcomes_daily (LIKE rowmq_outcomes INCLUDING COMPRESSION) PARTITION BY RANGE (seq);
DROP TABLE rowmq_outcomes;
ALTER TABLE rowmq_outcomes_daily RENAME TO rowmq_outcomes;
ALTER TABLE rowmq_outcomes ADD PRIMARY KEY (seq);
CREATE INDEX rowmq_outcomes_finished ON rowmq_outcomes (queue, state, finished_at);

CREATE TABLE rowmq_days (day bigint PRIMARY KEY);

-- A unique key of a partitioned table must contain seq, so ids are kept unique here.
CREATE TABLE rowmq_ids (
    id  uuid   PRIMARY KEY,
    seq bigint NOT NULL
);
CREATE INDEX rowmq_ids_seq ON rowmq_ids (seq);

CREATE FUNCTION rowmq_note_ids() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    INSERT INTO rowmq_ids (id, seq) SELECT id, seq FROM fresh;
    RETURN NULL;
END
$$;
CREATE TRIGGER rowmq_note_ids AFTER INSERT ON rowmq_messages
REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION rowmq_note_ids();

CREATE FUNCTION rowmq_drop_ids() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    DELETE FROM rowmq_ids i USING gone WHERE i.id = gone.id;
    RETURN NULL;
END
$$;
CREATE TRIGGER rowmq_drop_ids AFTER DELETE ON rowmq_messages
REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION rowmq_drop_ids();

-- Made apart and then attached, because that does not stop those who are reading and writing.
CREATE FUNCTION rowmq_make_day(day bigint) RETURNS void LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    parent text;
BEGIN
    FOREACH parent IN ARRAY ARRAY['rowmq_messages', 'rowmq_outcomes'] LOOP
        EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING DEFAULTS INCLUDING INDEXES INCLUDING COMPRESSION)',
                       parent || '_' || day, parent);
        EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%s) TO (%s)', parent, parent || '_' || day,
                       day << 33, (day + 1) << 33);
    END LOOP;
    INSERT INTO rowmq_days (day) VALUES (day);
END
$$;

-- Nobody can read or change a day that is looked at with this lock; false if that takes too long.
CREATE FUNCTION rowmq_lock_day(day bigint) RETURNS boolean LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    PERFORM set_config('lock_timeout', '500ms', true);
    EXECUTE format('LOCK TABLE rowmq_messages, rowmq_outcomes, %I, %I IN ACCESS EXCLUSIVE MODE', 'rowmq_outcomes_' || day,
                   'rowmq_messages_' || day);
    RETURN true;
EXCEPTION WHEN lock_not_available THEN
    RETURN false;
END
$$;

CREATE FUNCTION rowmq_drop_day(dropped bigint) RETURNS void LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    EXECUTE format('DROP TABLE %I, %I', 'rowmq_messages_' || dropped, 'rowmq_outcomes_' || dropped);
    DELETE FROM rowmq_ids WHERE seq >= dropped << 33 AND seq < (dropped + 1) << 33;
    DELETE FROM rowmq_failures WHERE seq >= dropped << 33 AND seq < (dropped + 1) << 33;
    DELETE FROM rowmq_days WHERE day = dropped;
END
$$;
