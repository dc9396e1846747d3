-- A claim writes each row and its key once more. With room for both beside the first, no second page is locked and logged for
-- the row, and no page of the index is split for the key. Pages that are full already stay so until vacuum empties them.

ALTER TABLE rowmq_pending SET (fillfactor = 35);
ALTER INDEX rowmq_pending_pkey SET (fillfactor = 50);
