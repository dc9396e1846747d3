#!lua flags=no-writes
--! keys
-- What was deleted, oldest first.
-- KEYS[1] prefix
-- ARGV[1] from which place, [2] up to which
-- Result: packed each: at, queue name, action, count, first seq, last seq

return call('LRANGE', PREFIX .. 'ledger', ARGV[1], ARGV[2])
