#!lua
--! keys
-- Keep new samples and forget old ones, unless somebody has sampled meanwhile.
-- KEYS[1] prefix
-- ARGV[1] until when it had been sampled or '', [2] until when it is now, then for each of two spans: span, before when
--         its samples are forgotten, from when on they are made anew; then for each sample: queue name, span, when it
--         began, text
-- Result: 1, or 0 if somebody was faster

if (call('GET', PREFIX .. 'sampled') or '') ~= ARGV[1] then
  return 0
end
call('SET', PREFIX .. 'sampled', ARGV[2])

local ids = {}
local queues = call('HGETALL', PREFIX .. 'queues')
for place = 1, #queues, 2 do
  ids[queues[place]] = queues[place + 1]
  for span = 3, 6, 3 do
    local key = queue_key(queues[place + 1], 'samples:' .. ARGV[span])
    for _, range in ipairs({ { '-inf', '(' .. ARGV[span + 1] }, { ARGV[span + 2], '+inf' } }) do
      for _, sample in ipairs(call('ZRANGE', key, range[1], range[2], 'BYSCORE')) do
        call('ZREM', key, sample)
      end
    end
  end
end
for place = 9, #ARGV, 4 do
  local id = ids[ARGV[place]]
  if id then
    call('ZADD', queue_key(id, 'samples:' .. ARGV[place + 1]), ARGV[place + 2], ARGV[place + 3])
  end
end
return 1
