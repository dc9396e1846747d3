#!lua flags=allow-oom
--! keys
-- Note the layout of the keys, if none is noted.
-- KEYS[1] prefix
-- ARGV[1] layout
-- Result: the layout that was noted before, or ''

return call('SET', PREFIX .. 'layout', ARGV[1], 'NX', 'GET') or ''
