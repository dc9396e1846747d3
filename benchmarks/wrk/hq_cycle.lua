-- Enqueue, receive, complete, in turn. Answers of a thread come in any order, so what was received waits in
-- a list until a request completes it; one cycle is three requests.
local body = '{"to":"ada@example.com","text":"' .. string.rep("x", 160) .. '"}'
local held, turn = {}, 0

function request()
    local id = table.remove(held)
    if id then
        return wrk.format("PUT", "/messages/" .. id .. "/complete?receipt=" .. table.remove(held))
    end
    turn = 1 - turn
    if turn == 1 then
        return wrk.format("POST", "/queues/q/enqueue", nil, body)
    end
    return wrk.format("GET", "/queues/q/receive")
end

function response(status, headers, answer)
    local id, receipt = string.match(answer, '^{"id":"([^"]+)".*"receipt":"([^"]+)"}$')
    if id then
        table.insert(held, receipt)
        table.insert(held, id)
    end
end
