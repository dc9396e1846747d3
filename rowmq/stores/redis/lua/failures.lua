#!lua flags=no-writes
--! keys
-- A message's failed attempts, oldest first.
-- KEYS[1] prefix
-- ARGV[1] id
-- Result: packed each: attempt, queue name, consumer or '', started at or '', ended at, error

local seq = call('HGET', PREFIX .. 'ids', ARGV[1])
return seq and call('LRANGE', PREFIX .. 'f:' .. seq, 0, -1) or {}
