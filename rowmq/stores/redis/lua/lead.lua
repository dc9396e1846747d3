#!lua flags=allow-oom
--! keys
-- Take the lead of a role, or keep it.
-- KEYS[1] prefix
-- ARGV[1] role, [2] consumer, [3] time to live, [4] now or ''
-- Result: 1, or 0 while another has it

local now, known = clock(ARGV[4]), call('HGET', PREFIX .. 'leads', ARGV[1])
if known then
  local lead = unpacked(known, 2)
  if lead[1] ~= ARGV[2] and tonumber(lead[2]) > now then
    return 0
  end
end
call('HSET', PREFIX .. 'leads', ARGV[1], packed({ ARGV[2], text(now + tonumber(ARGV[3])) }))
return 1
