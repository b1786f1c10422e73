import type { Client } from "../client.js";
import { type Exchange, type RequestOptions, send } from "../transport/send.js";
import { APIError, ValidationError } from "../vocabulary/errors.js";
import { streamPath } from "./protocol/request.js";
import type { Resumption } from "./resume.js";

/** The copy of an answer that a proxy keeps. Most proxies keep none. */
export interface KeptAnswer {
  /** Id of the answer at the proxy; undefined where the proxy keeps none, or has lost it. */
  readonly id: string | undefined;
  /** True if the rest of the answer can be requested. */
  readonly isKept: boolean;
  /** Takes the id from a response. */
  takeId(response: Response): void;
  /** Reports new content: attempts count from 0 again. */
  advance(): void;
  /**
   * Requests the answer from its start.
   *
   * @throws {ValidationError} without an `id`
   */
  all(): Promise<Response>;
  /**
   * Requests the rest of the answer, after the event `eventId`.
   *
   * @param cause error that ended the last attempt; undefined for a failed connection
   * @throws when the rest can't be had. Without an `id` it is gone for good; with one, the error says why it was refused
   */
  rest(eventId: string, cause?: unknown): Promise<Response>;
  /** Stops the answer at the proxy, where it would otherwise continue. */
  stop(): void;
}

const NOT_KEPT = "the proxy keeps no answer under this id: it was deleted, is another user's, or never was";
const NO_ID = {
  path: "streamId",
  message: "must be the `streamId` of an answer: 1 to 128 letters, digits, _ or -",
  rule: "chat.stream-id",
};

/** Creates the copy of an answer. With an `id`, an existing copy is read from its start. */
export function createKeptAnswer(
  client: Client,
  exchange: Exchange,
  { headers }: RequestOptions,
  id: string | undefined,
): KeptAnswer {
  /** True if content came since the last request for the rest, or none was sent. */
  let isFirst = true;
  let isOver = false;
  let loading: Promise<Resumption> | undefined;
  if (id) load(id);

  return {
    get id() {
      return id;
    },
    get isKept() {
      return loading !== undefined && !isOver;
    },
    takeId(response) {
      id ??= response.headers.get("x-stream-id") ?? undefined;
      if (id) load(id);
    },
    advance() {
      isFirst = true;
    },
    all: async () => {
      if (id === undefined) throw new ValidationError([NO_ID]);
      return request("");
    },
    rest: request,
    stop() {
      loading?.then(({ stop }) => stop()).catch(() => {});
      id = undefined;
    },
  };

  async function request(eventId: string, cause?: unknown): Promise<Response> {
    const hasProgress = isFirst;
    isFirst = false;
    let response: Response | undefined;
    try {
      const resumption = await loading;
      response = await resumption?.rest(eventId, cause, hasProgress);
    } finally {
      isOver = !response;
    }
    if (response) return response;
    id = undefined;
    throw new APIError(NOT_KEPT, { status: 404, body: "" });
  }

  /** Loads the code in advance, because the network may be gone when it is needed. */
  function load(streamId: string): void {
    loading ??= import("./resume.js").then(({ createResumption }) =>
      createResumption({ client, exchange, send, headers, path: streamPath(streamId) }),
    );
    loading.catch(() => {});
  }
}
