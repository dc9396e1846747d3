-- SendMessage, ReceiveMessage, DeleteMessage, in turn, as AWS's clients send them (JSON 1.0).
-- COUNT of the environment is how many messages a request carries: 1, or a batch of up to 10.
local count = tonumber(os.getenv("COUNT") or "1")
local text = string.rep("x", 200)
local held, turn = {}, 0

local function call(action, body)
    return wrk.format("POST", "/", {
        ["x-amz-target"] = "AmazonSQS." .. action,
        ["content-type"] = "application/x-amz-json-1.0",
        ["authorization"] = "AWS4-HMAC-SHA256 Credential=x/20260101/us-east-1/sqs/aws4_request, SignedHeaders=host, Signature=0",
    }, body)
end

local function queue_url()
    return '"QueueUrl":"' .. os.getenv("QUEUE_URL") .. '"'
end

local function entries(field, values)
    local list = {}
    for place = 1, count do
        list[place] = '{"Id":"' .. place .. '","' .. field .. '":"' .. values(place) .. '"}'
    end
    return '"Entries":[' .. table.concat(list, ",") .. "]"
end

local function delete()
    if count == 1 then
        return call("DeleteMessage", "{" .. queue_url() .. ',"ReceiptHandle":"' .. table.remove(held) .. '"}')
    end
    local body = entries("ReceiptHandle", function() return table.remove(held) end)
    return call("DeleteMessageBatch", "{" .. queue_url() .. "," .. body .. "}")
end

local function send()
    if count == 1 then
        return call("SendMessage", "{" .. queue_url() .. ',"MessageBody":"' .. text .. '"}')
    end
    return call("SendMessageBatch", "{" .. queue_url() .. "," .. entries("MessageBody", function() return text end) .. "}")
end

function request()
    if #held >= count then
        return delete()
    end
    turn = 1 - turn
    if turn == 1 then
        return send()
    end
    return call("ReceiveMessage", "{" .. queue_url() .. ',"MaxNumberOfMessages":' .. count .. "}")
end

function response(status, headers, answer)
    for handle in string.gmatch(answer, '"ReceiptHandle": ?"([^"]+)"') do
        table.insert(held, handle)
    end
end
