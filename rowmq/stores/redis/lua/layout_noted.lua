#!lua flags=no-writes
--! keys
-- Which layout of the keys is noted.
-- KEYS[1] prefix
-- Result: the layout, or ''

return call('GET', PREFIX .. 'layout') or ''
