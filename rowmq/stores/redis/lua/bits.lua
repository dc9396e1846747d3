#!lua flags=allow-oom
--! keys seqs
-- From layout 1 to layout 2: which messages are in a state was a sorted set of their seqs, and is bits. It may be
-- ended and begun again anywhere: a sorted set is first put aside (q:<id>:<part>:seqs), which is noted (moving), and
-- goes as its seqs come. Meanwhile the layout is one that nobody knows, so that nobody opens what is half moved.
-- KEYS[1] prefix
-- ARGV[1] how many seqs at most
-- Result: how many came; 0 once all have, and layout 2 is noted

local layout = call('GET', PREFIX .. 'layout')
if layout ~= '1' and layout ~= '1 to 2' then
  return 0
end
call('SET', PREFIX .. 'layout', '1 to 2')

-- The sorted set of a part, put aside when it is first asked for.
local function aside(queue, part)
  local key = queue_key(queue, part)
  local old = key .. ':seqs'
  if call('SADD', PREFIX .. 'moving', queue .. ' ' .. part) == 1 and call('EXISTS', key) == 1 then
    call('RENAME', key, old)
  end
  return old
end

local queues = call('HVALS', PREFIX .. 'queues')
for _, dropped in ipairs(call('SMEMBERS', PREFIX .. 'dropped')) do
  table.insert(queues, dropped)
end
for _, queue in ipairs(queues) do
  for _, part in ipairs({ 'open', 'done', 'dead' }) do
    local old = aside(queue, part)
    local seqs = call('ZRANGE', old, 0, ARGV[1] - 1)
    if #seqs > 0 then
      mark_all(queue, part, seqs, true)
      write_marks()
      call('ZREMRANGEBYRANK', old, 0, #seqs - 1)
      return #seqs
    end
  end
end
call('UNLINK', PREFIX .. 'moving')
call('SET', PREFIX .. 'layout', '2')
return 0
