-- Topics: who is bound, and what is kept while nobody is.

local GRACE = 2000000

local function topic_key(topic, part)
  return PREFIX .. 't:' .. topic .. ':' .. part
end

local function topic_named(name)
  local topic = call('HGET', PREFIX .. 'topics', name)
  if not topic then
    topic = text(call('INCR', PREFIX .. 'last_tid'))
    call('HSET', PREFIX .. 'topics', name, topic)
  end
  return topic
end

-- Delete what a topic has kept.
local function forget_kept(name, topic, now)
  local seqs = zset('ZRANGE', topic_key(topic, 'kept'), 0, -1)
  for _, seq in ipairs(seqs) do
    erase(row_of(seq), now)
  end
  call('DEL', topic_key(topic, 'kept'))
  note(name, 'topic', seqs, now)
  return #seqs
end

-- Delete what a topic has kept, once its grace is over.
local function forget_late(name, topic, now)
  local first = tonumber(call('GET', topic_key(topic, 'first_bound_at')) or nil)
  if first and now > first + GRACE then
    return forget_kept(name, topic, now)
  end
  return 0
end

-- Unbind a queue; after the last one the topic is as new.
local function unbind(name, queue, now)
  local topic = call('HGET', PREFIX .. 'topics', name)
  if not topic then
    return 0
  end
  forget_late(name, topic, now)
  if call('SREM', topic_key(topic, 'queues'), queue) == 0 then
    return 0
  end
  if call('SCARD', topic_key(topic, 'queues')) == 0 then
    forget_kept(name, topic, now)
    call('DEL', topic_key(topic, 'first_bound_at'))
    call('HDEL', PREFIX .. 'topics', name)
  end
  return 1
end
