import type { UncheckedRequest } from "../base/validate.js";
import type { Client } from "../client.js";
import { type ByteHandlers, type ByteReader, readBody } from "../transport/read-body.js";
import { type Exchange, type RequestOptions, send } from "../transport/send.js";
import { checkedChatRequest } from "./protocol/request.js";
import type { ChatRequest } from "./protocol/request-body.js";

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

/** One attempt at an answer: first the wait for its response (`opening`), then its bytes (`reading`). */
export interface Attempt<Out> {
  readonly state: "opening" | "reading";
  /** Settles with the wait for the response. */
  readonly opening: Promise<void>;
  /** Reason to drop the connection, if it was dropped for one. */
  readonly dropped: unknown;
  /** Waits for the response or the next bytes; gives what their handler makes of it. */
  read(): Promise<Out>;
  /** Drops the connection. The bytes then end, as if the answer had. */
  drop(reason?: unknown): void;
  /** Gives the connection back: all that matters has been read. */
  release(): void;
}

/** Opens an attempt; `handlers` get its bytes, and why there are no more. */
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
    drop(reason?: unknown) {
      attempt.dropped = reason;
      body?.cancel();
    },
    release: () => body?.release(),
  };
  return attempt;
}
