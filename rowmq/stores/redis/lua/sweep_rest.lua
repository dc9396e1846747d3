#!lua flags=allow-oom
--! keys seqs queues writing life erasing topics
-- Forget old named claims, leads that are over, and what topics have kept past their grace.
-- KEYS[1] prefix
-- ARGV[1] now or '', [2] how many to forget, [3] how long claims are kept
-- Result: {how many were forgotten, ids of dropped queues that are not empty yet}

local now = clock(ARGV[1])
local born = PREFIX .. 'claims:born'
local old = call('ZRANGE', born, '-inf', now - tonumber(ARGV[3]), 'BYSCORE', 'LIMIT', 0, ARGV[2])
for _, claim in ipairs(old) do
  local key = PREFIX .. 'c:' .. claim
  local found = call('HMGET', key, 'name', 'q')
  call('ZREM', born, claim)
  call('HDEL', PREFIX .. 'claims', found[1])
  call('SREM', queue_key(found[2], 'claims'), claim)
  call('UNLINK', key, key .. ':seqs')
end
local leads, over = call('HGETALL', PREFIX .. 'leads'), {}
for place = 1, #leads, 2 do
  if #over < tonumber(ARGV[2]) - #old and tonumber(unpacked(leads[place + 1], 2)[2]) <= now then
    table.insert(over, leads[place])
  end
end
for _, role in ipairs(over) do
  call('HDEL', PREFIX .. 'leads', role)
end
local topics = call('HGETALL', PREFIX .. 'topics')
for place = 1, #topics, 2 do
  forget_late(topics[place], topics[place + 1], now)
end
write_all()
return { #old + #over, call('SMEMBERS', PREFIX .. 'dropped') }
