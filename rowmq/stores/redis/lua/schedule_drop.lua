#!lua flags=allow-oom
--! keys
-- Delete a schedule.
-- KEYS[1] prefix
-- ARGV[1] schedule name
-- Result: 1, or 0 if there is none

return call('HDEL', PREFIX .. 'schedules', ARGV[1])
