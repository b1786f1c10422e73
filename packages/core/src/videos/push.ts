import type { Client } from "../client.js";
import { createEventParser } from "../transport/event-stream.js";
import { readBody } from "../transport/read-body.js";
import { closeExchange, openExchange, type RequestOptions, send } from "../transport/send.js";

/**
 * Gives the snapshots of a task that a proxy pushes, until the connection ends. The last snapshot tells the reader whether
 * the task is over.
 *
 * @param path the events' own
 * @throws the signal's reason; whatever keeps the events from coming
 */
export async function* videoEvents(
  client: Client,
  path: string,
  options: RequestOptions,
): AsyncGenerator<unknown, void> {
  const exchange = openExchange(
    client,
    { kind: "video", path, headersMs: 60_000 },
    { ...options, retry: { limit: 0 } },
  );
  const told: unknown[] = [];
  let failure: { error: unknown } | undefined;
  const parser = createEventParser({
    onEvent({ event, data }) {
      if (event === "task") told.push(JSON.parse(client.scrub(data)));
    },
  });
  try {
    const response = await send(client, exchange, { method: "get", headers: options.headers, repeat: "any" });
    const body = readBody(client, exchange, response, {
      use(bytes) {
        if (bytes) parser.push(bytes);
        return bytes !== undefined;
      },
      lose(error): boolean {
        throw error;
      },
    });
    while (await body.read()) yield* told.splice(0);
  } catch (error) {
    failure = { error };
    throw error;
  } finally {
    // also where its reader has left
    exchange.abort(undefined);
    closeExchange(client, exchange, {}, failure);
  }
}
