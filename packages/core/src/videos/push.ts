import type { Client } from "../client.js";
import { createEventParser } from "../transport/event-stream.js";
import { failureCode } from "../transport/failure-code.js";
import { createBodyReader, readBody } from "../transport/read-body.js";
import { closeExchange, openExchange, type RequestOptions, send } from "../transport/send.js";

/**
 * Yields the responses about a video task that a proxy pushes, until the connection ends or the page is hidden. The
 * end of the connection does not mean that the task has ended.
 *
 * @param path path of the event stream
 * @throws the signal's reason; the error that ended the stream
 */
export async function* receiveVideoEvents(
  client: Client,
  path: string,
  options: RequestOptions,
): AsyncGenerator<unknown, void> {
  const exchange = openExchange(
    client,
    { kind: "video", path, firstChunkMs: 60_000 },
    { ...options, retry: { limit: 0 } },
  );
  const received: unknown[] = [];
  let failure: { error: unknown } | undefined;
  const { document } = globalThis as Partial<typeof globalThis>;
  const closeIfHidden = () => {
    if (document?.visibilityState === "hidden") exchange.abort(new Error("the page is hidden"));
  };
  document?.addEventListener("visibilitychange", closeIfHidden);
  const parser = createEventParser({
    onEvent({ event, data }) {
      if (event === "task") received.push(JSON.parse(client.scrub(data)));
    },
  });
  try {
    closeIfHidden();
    const response = await send(client, exchange, { method: "get", headers: options.headers, failureCode });
    const body = readBody(client, exchange, createBodyReader(response), {
      use(bytes) {
        if (bytes) parser.push(bytes);
        return bytes !== undefined;
      },
      lose(error): boolean {
        throw error;
      },
    });
    while (await body.read()) yield* received.splice(0);
  } catch (error) {
    failure = { error };
    throw error;
  } finally {
    document?.removeEventListener("visibilitychange", closeIfHidden);
    // also runs if the consumer leaves its loop
    exchange.abort(undefined);
    closeExchange(client, exchange, {}, failure);
  }
}
