import { createChatRequest, createTestClient, equal, readFailure } from "./setup.js";

const CLOSED = "http://127.0.0.1:2";

/** Every failure is an error of the family, with what a program needs to act on it. */
export async function errors(setup) {
  const { streamChat, isGatewayError } = setup.core;
  const client = createTestClient(setup, { retry: { limit: 0 } });
  const failed = async (content, options) => {
    const error = await readFailure(streamChat(client, createChatRequest(content), options).result());
    equal([content, isGatewayError(error), error instanceof Error], [content, true, true]);
    return error;
  };

  const cut = await failed("Rivers [[truncate]]");
  equal([cut.name, cut.reason, cut.partial.content.length > 0], ["StreamError", "truncated", true]);
  const broken = await failed("Rivers [[drop]]");
  // Bun closes a connection that is reset without reading what has come before
  const keepsBytes = !("Bun" in globalThis);
  equal([broken.name, broken.partial.content.length > 0 || !keepsBytes], ["StreamError", true]);
  const throttled = await failed("Rivers [[429]]");
  const { name, status, retryAfterMs, billing } = throttled;
  equal([name, status, retryAfterMs, billing], ["APIError", 429, 1000, "none"]);
  equal(typeof throttled.requestId, "string");
  const silent = await failed("Rivers [[stall]]", { timeout: { chunkMs: 200 } });
  equal(
    [silent.name, silent.phase, JSON.stringify(silent.partial).length > 50],
    ["TimeoutError", "chunk", true],
  );
  const wrong = await readFailure(
    streamChat(client, { ...createChatRequest("Rivers"), max_tokens: 0 }).result(),
  );
  equal([wrong.name, wrong.billing, wrong.issues[0].path], ["ValidationError", "none", "max_tokens"]);
  const nowhere = createTestClient({ ...setup, baseURL: CLOSED }, { retry: { limit: 0 } });
  const unreachable = await readFailure(streamChat(nowhere, createChatRequest("Rivers")).result());
  equal(unreachable.name, "ConnectionError");
}
