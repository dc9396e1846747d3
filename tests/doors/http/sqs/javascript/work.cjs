// Real work with the JavaScript SDK v3. Prints one JSON object; whatever fails ends the program with a trace.
const assert = require("node:assert/strict");
const { SNSClient, CreateTopicCommand, SubscribeCommand, PublishCommand } = require("@aws-sdk/client-sns");
const sdk = require("@aws-sdk/client-sqs");

const [endpoint, name] = process.argv.slice(2);
const shared = { region: "us-east-1", credentials: { accessKeyId: "anybody", secretAccessKey: "anything" } };
const sqs = new sdk.SQSClient({ ...shared, endpoint });
// Without an endpoint this client goes to the host in the queue's URL.
const byUrl = new sdk.SQSClient(shared);
const sns = new SNSClient({ ...shared, endpoint });
const ask = (command, input, client = sqs) => client.send(new sdk[`${command}Command`](input));

async function messages() {
  const { QueueUrl } = await ask("CreateQueue", { QueueName: name, tags: { team: "mail" } });
  const MessageAttributes = {
    text: { DataType: "String", StringValue: "žluť" },
    raw: { DataType: "Binary", BinaryValue: new Uint8Array([0, 255, 13]) },
    count: { DataType: "Number", StringValue: "7" },
  };
  // The SDK compares the digests of bodies by itself, and throws where they differ.
  const MessageBody = 'say "hi"\r\n žluť 🐎';
  const sent = await ask("SendMessage", { QueueUrl, MessageBody, MessageAttributes }, byUrl);
  const found = await ask(
    "ReceiveMessage",
    { QueueUrl, MessageAttributeNames: ["All"], MessageSystemAttributeNames: ["All"], WaitTimeSeconds: 5 },
    byUrl,
  );
  const [message] = found.Messages;
  assert.equal(message.Body, MessageBody);
  assert.equal(message.MessageId, sent.MessageId);
  assert.equal(message.MD5OfMessageAttributes, sent.MD5OfMessageAttributes);
  assert.deepEqual([...message.MessageAttributes.raw.BinaryValue], [0, 255, 13]);
  assert.equal(message.Attributes.ApproximateReceiveCount, "1");
  const { ReceiptHandle } = message;
  await ask("ChangeMessageVisibility", { QueueUrl, ReceiptHandle, VisibilityTimeout: 0 });
  const [again] = (await ask("ReceiveMessage", { QueueUrl })).Messages;
  await ask("DeleteMessage", { QueueUrl, ReceiptHandle: again.ReceiptHandle });
  assert.equal((await ask("ReceiveMessage", { QueueUrl })).Messages, undefined);
  assert.deepEqual((await ask("ListQueueTags", { QueueUrl })).Tags, { team: "mail" });
  return QueueUrl;
}

async function batches(QueueUrl) {
  const Entries = Array.from({ length: 10 }, (_, n) => ({ Id: `e${n}`, MessageBody: `body ${n}` }));
  const sent = await ask("SendMessageBatch", { QueueUrl, Entries });
  assert.equal(sent.Successful.length, 10);
  const got = await ask("ReceiveMessage", { QueueUrl, MaxNumberOfMessages: 10 });
  const deleted = await ask("DeleteMessageBatch", {
    QueueUrl,
    Entries: got.Messages.map(({ ReceiptHandle }, n) => ({ Id: `d${n}`, ReceiptHandle })),
  });
  return deleted.Successful.length;
}

async function order() {
  const Attributes = { FifoQueue: "true", ContentBasedDeduplication: "true" };
  const { QueueUrl } = await ask("CreateQueue", { QueueName: `${name}.fifo`, Attributes });
  for (const body of ["a", "b", "a", "c"]) {
    await ask("SendMessage", { QueueUrl, MessageBody: body, MessageGroupId: "g" });
  }
  const got = await ask("ReceiveMessage", { QueueUrl, MaxNumberOfMessages: 10 });
  return got.Messages.map(({ Body }) => Body).join("");
}

async function failures() {
  const caught = {};
  for (const [what, command, input] of [
    ["absent", "SendMessage", { QueueUrl: `${endpoint}/000000000000/not-there`, MessageBody: "x" }],
    ["handle", "DeleteMessage", { QueueUrl: name, ReceiptHandle: "garbage" }],
    ["range", "ReceiveMessage", { QueueUrl: name, MaxNumberOfMessages: 11 }],
    ["batch", "SendMessageBatch", { QueueUrl: name, Entries: [] }],
  ]) {
    await ask(command, input).catch((error) => {
      caught[what] = [error.name, error.$metadata.httpStatusCode];
      if (what === "absent") assert(error instanceof sdk.QueueDoesNotExist);
    });
  }
  return caught;
}

async function topics(QueueUrl) {
  const { TopicArn } = await sns.send(new CreateTopicCommand({ Name: name }));
  const shown = await ask("GetQueueAttributes", { QueueUrl, AttributeNames: ["QueueArn"] });
  const Endpoint = shown.Attributes.QueueArn;
  await sns.send(new SubscribeCommand({ TopicArn, Protocol: "sqs", Endpoint }));
  await sns.send(new PublishCommand({ TopicArn, Message: "news" }));
  const [{ Body }] = (await ask("ReceiveMessage", { QueueUrl })).Messages;
  return JSON.parse(Body).Message;
}

async function main() {
  const url = await messages();
  const told = { url, batch: await batches(url), order: await order(), failures: await failures() };
  const listed = [];
  for await (const page of sdk.paginateListQueues({ client: sqs, pageSize: 1 }, { QueueNamePrefix: name })) {
    listed.push(...page.QueueUrls);
  }
  console.log(JSON.stringify({ ...told, listed, news: await topics(url) }));
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
