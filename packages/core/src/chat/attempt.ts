import type { UncheckedRequest } from "../base/validate.js";
import type { Client } from "../client.js";
import { type ByteHandlers, type ByteReader, readBody } from "../transport/read-body.js";
import { type Exchange, type RequestOptions, send } from "../transport/send.js";
import { checkedChatRequest } from "./protocol/request.js";
import type { ChatRequest } from "./protocol/schema.js";

/** Sends the request of a first attempt; `newer` is as in `assertAccepted`. */
export function requestAnswer(
  client: Client,
  exchange: Exchange,
  request: ChatRequest | UncheckedRequest,
  { headers }: RequestOptions,
  newer: string,
): Promise<Response> {
  const body = () => checkedChatRequest(client, request, true, newer);
  return send(client, exchange, { method: "post", body, headers, repeat: "any" });
}

/** One attempt at an answer. It waits for the response (`opening`), then for bytes (`reading`). */
export interface Attempt<Out> {
  readonly state: "opening" | "reading";
  /** Settles when the response has come, or has failed. */
  readonly opening: Promise<void>;
  /** Reason for which the connection was dropped, if there was one. */
  readonly dropped: unknown;
  /** Waits for the response or for the next bytes. Returns the result of their handler. */
  read(): Promise<Out>;
  /** Notes that a delta that was read before is taken. */
  touch(): void;
  /** Drops the connection. Reading then ends as at the end of the answer. */
  drop(reason?: unknown): void;
  /** Releases the connection for other requests: the rest of the body does not matter. */
  release(): void;
}

/** Opens an attempt. `handlers` get its bytes, and the reason why there are no more. */
export function openAttempt<Out>(
  client: Client,
  exchange: Exchange,
  response: Promise<Response>,
  handlers: ByteHandlers<Out>,
): Attempt<Out> {
  let body: ByteReader<Out> | undefined;
  const attempt = {
    state: "opening" as Attempt<Out>["state"],
    opening: response.then((answer) => {
      body = readBody(client, exchange, answer, handlers);
      attempt.state = "reading";
    }),
    dropped: undefined as unknown,
    read: (): Promise<Out> => body?.read() ?? attempt.opening.then(attempt.read, handlers.lose),
    touch: () => body?.touch(),
    drop(reason?: unknown) {
      attempt.dropped = reason;
      body?.cancel();
    },
    release: () => body?.release(),
  };
  return attempt;
}
