import {
  createChatRequest,
  createTestClient,
  equal,
  mark,
  readFailure,
  readJournal,
  until,
} from "./setup.js";

/*
 * One streamed response: its text, its end, and what the gateway notices of its reader.
 */

/** A response comes in many pieces, and they are the whole response. */
export async function stream(setup) {
  const { streamChat, completeChat } = setup.core;
  const client = createTestClient(setup);
  const request = createChatRequest("Tell me of rivers: Größe, 川, 🌊");
  let text = "";
  let pieces = 0;
  const chatStream = streamChat(client, request);
  for await (const delta of chatStream)
    if (delta.type === "text-delta") {
      text += delta.text;
      pieces += 1;
    }
  const { outcome, message, usage } = await chatStream.result();
  const whole = await completeChat(client, request);
  equal([outcome, pieces > 5, (usage?.total_tokens ?? 0) > 0], ["complete", true, true]);
  equal([text, whole.message.content], [message.content, message.content]);
}

/** A reader that aborts gets the platform's `AbortError`, and the gateway's connection ends. */
export async function abort(setup) {
  const marked = mark();
  const controller = new AbortController();
  const { signal } = controller;
  const chatStream = setup.core.streamChat(createTestClient(setup), createChatRequest(`flood ${marked}`), {
    signal,
  });
  let pieces = 0;
  const read = async () => {
    for await (const delta of chatStream)
      if (delta.type === "text-delta" && ++pieces === 1) controller.abort();
  };
  const { name } = await readFailure(read());
  equal([name, pieces], ["AbortError", 1]);
  await until(
    "the gateway sees that its reader has gone",
    async () => (await readFlood(setup, marked)).isLeft,
  );
}

/** A reader that stops reading stops the gateway; one that leaves the loop ends the connection. */
export async function backpressure(setup) {
  const marked = mark();
  let sent = 0;
  for await (const delta of setup.core.streamChat(
    createTestClient(setup),
    createChatRequest(`flood ${marked}`),
  )) {
    if (delta.type !== "text-delta") continue;
    await until("the gateway stops", async () => {
      const before = sent;
      ({ sent } = await readFlood(setup, marked));
      return sent > 0 && sent === before;
    });
    equal((await readFlood(setup, marked)).isWhole, false);
    break;
  }
  let end = {};
  await until("the gateway sees that its reader has left, or has sent all", async () => {
    end = await readFlood(setup, marked);
    return end.isLeft || end.isWhole;
  });
  equal(end.isWhole, false);
}

/** What the gateway sent of a response that is too large for any buffer. */
async function readFlood({ gatewayURL }, marked) {
  // a Server Component of Next gets the same response again for the same address
  return (await fetch(`${gatewayURL}/flood/${marked}?${mark()}`)).json();
}

/** Two failures and then a response: the client repeats the request, and its caller sees the response alone. */
export async function retry(setup) {
  const marked = mark();
  const attempts = [];
  const onEvent = (event) => event.type === "response" && attempts.push(event.status);
  const chatStream = setup.core.streamChat(
    createTestClient(setup, { onEvent }),
    createChatRequest(`${marked} [[500:2]]`),
  );
  const { outcome } = await chatStream.result();
  // the proxy passes a failure of the gateway on as 502
  equal([outcome, attempts.length, attempts.at(-1)], ["complete", 3, 200]);
  equal((await readJournal(setup, marked)).length, 3);
}
