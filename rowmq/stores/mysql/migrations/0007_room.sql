-- A claim writes a token, a consumer and a time into each row. InnoDB fills its pages, has no setting that leaves room in them,
-- and must put a page in order or split it for every few rows that grow; so a row brings the room along, and a claim gives
-- it up. And the index of groups, which every message is in, no longer holds the time that a claim changes, only whether a
-- message is parked. Done only where it is missing, because a migration that was interrupted has kept what it had done.
DROP PROCEDURE IF EXISTS rowmq_make_room;

CREATE PROCEDURE rowmq_make_room()
BEGIN
    IF NOT EXISTS (SELECT 1 FROM information_schema.columns WHERE table_schema = DATABASE()
                   AND table_name = 'rowmq_pending' AND column_name = 'room') THEN
        ALTER TABLE rowmq_pending
            ADD COLUMN parked BOOLEAN GENERATED ALWAYS AS (visible_at IS NULL) STORED,
            ADD COLUMN room BINARY(48) DEFAULT '',
            DROP INDEX rowmq_pending_group,
            ADD INDEX rowmq_pending_group (group_id, parked, seq);
    END IF;
END;

CALL rowmq_make_room();

DROP PROCEDURE rowmq_make_room;
