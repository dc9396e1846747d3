#!lua flags=allow-oom
--! keys seqs queues writing rules life records
-- Take over a named claim: a new token for what is left of it, and a new lease.
-- KEYS[1] prefix
-- ARGV[1] claim name, [2] new token, [3] lease or '' (each queue's), [4] now or ''
-- Result: false if no claim has the name; else {runs, messages as shared/records.lua shows them}

local claim = call('HGET', PREFIX .. 'claims', ARGV[1])
if not claim then
  return false
end
local now, key = clock(ARGV[4]), PREFIX .. 'c:' .. claim
local former = call('HGET', key, 'tok')
call('HSET', key, 'tok', ARGV[2])

local function take_over(row)
  row.tok = ARGV[2]
  row.at = lease_end(now, tonumber(ARGV[3]) or queue_of(row.q).lease, row.deadline)
  save(row)
  place(row)
end

local left = {}
for _, seq in ipairs(call('LRANGE', key .. ':seqs', 0, -1)) do
  local row = pending(seq)
  if row and row.tok == former then
    take_over(row)
    table.insert(left, seq)
  end
end
write_all()
return { call('HINCRBY', key, 'runs', 1), shown(left) }
