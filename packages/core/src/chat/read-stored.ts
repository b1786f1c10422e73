import type { Client } from "../client.js";
import type { RequestOptions } from "../transport/send.js";
import { ConfigurationError } from "../types/errors.js";
import type { OpenResumption } from "./resume.js";
import { type ChatStream, createStreamPath, oneConnection, openStream } from "./stream.js";

/**
 * Reads a response that the proxy stores from its start, as `resumeChat` does, but only with the `resume` of the client:
 * a store that may never need it does not add its code to every page. Leaving the stream stops the response at the proxy.
 *
 * @param streamId `streamId` of the `ChatStream` or `ChatMessage` that began the response
 * @throws {ConfigurationError} from the stream, if the client has no `resume`; nothing was sent
 * @throws the errors of `resumeChat`
 * @example
 * ```ts
 * const { message } = await readStoredChat(client, "0190a1b2").result();
 * ```
 */
export function readStoredChat(client: Client, streamId: string, options: RequestOptions = {}): ChatStream {
  const reading = client.resume ? client : { ...client, resume: notResumed };
  return openStream(reading, options, { streamId, path: createStreamPath(streamId) });
}

const NOT_RESUMED =
  "resume: only createClient({ resume: streamResumption() }) reads a stored response; nothing was sent";

/** Rejects a stored response, for a client without `resume`. */
const notResumed: OpenResumption = {
  open: (response) => ({
    ...oneConnection.open(response),
    request: () => Promise.reject(new ConfigurationError(NOT_RESUMED)),
  }),
};
