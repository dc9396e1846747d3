#!lua
--! keys queues
-- Create a queue or replace its settings, unless somebody else changed them meanwhile.
-- KEYS[1] prefix
-- ARGV[1] queue name, [2] the version that was changed ('' to create), [3] dead-letter queue's name or '', then
--         field and value of each setting; a setting that is not given is none
-- Result: 'put', 'changed' (look again), 'missing' (the dead-letter queue) or 'circle' (dead letters come back)

local name, version, letters = ARGV[1], ARGV[2], ARGV[3]
local id = call('HGET', PREFIX .. 'queues', name)
if (id and call('HGET', PREFIX .. 'q:' .. id, 'version') or '') ~= version then
  return 'changed'
end
local target = letters ~= '' and call('HGET', PREFIX .. 'queues', letters)
if letters ~= '' and not target then
  return 'missing'
end
local following = target
while following do
  if following == id then
    return 'circle'
  end
  following = call('HGET', PREFIX .. 'q:' .. following, 'dead_letter')
end

id = id or text(call('INCR', PREFIX .. 'last_qid'))
local key = PREFIX .. 'q:' .. id
local state = call('HMGET', key, 'room', 'filled')
call('DEL', key)
call('HSET', key, 'name', name, 'version', call('INCR', PREFIX .. 'last_version'), unpack(ARGV, 4))
if state[1] then
  call('HSET', key, 'room', state[1], 'filled', state[2])
end
if target then
  call('HSET', key, 'dead_letter', target)
end
call('HSET', PREFIX .. 'queues', name, id)
stir(id)
wake()
return 'put'
