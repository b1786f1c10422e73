import { createBodyReader, readBody } from "./read-body.js";
import type { Connection, Exchange } from "./send.js";

/**
 * Reads a response's body piece by piece, under the exchange's signal and `chunkMs`. Also reads the bodies of a custom
 * `fetch`: a Node stream, or texts.
 *
 * @throws the signal's reason; the error of the connection
 * @example
 * ```ts
 * const exchange = openExchange(client, { kind: "upload", path: "/v1/uploads" }, { signal });
 * const response = await client.fetch(await createRequest(client, "/v1/uploads", { signal: exchange.signal }));
 * let size = 0;
 * for await (const bytes of readChunks(client, exchange, response)) size += bytes.length;
 * ```
 */
export async function* readChunks(
  client: Connection,
  exchange: Pick<Exchange, "signal" | "chunkMs" | "abort">,
  response: Response,
): AsyncGenerator<Uint8Array, void> {
  const reader = readBody<Uint8Array | undefined>(client, exchange, createBodyReader(response), {
    use: (bytes) => bytes,
    lose(error) {
      throw error;
    },
  });
  try {
    for (let bytes = await reader.read(); bytes; bytes = await reader.read()) yield bytes;
  } finally {
    reader.cancel();
  }
}
