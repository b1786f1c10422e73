import type { Client } from "../client.js";
import { type Exchange, type RequestOptions, send } from "../transport/send.js";

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
  /** Requests the answer from its start. */
  all(): Promise<Response>;
  /**
   * Requests the rest of the answer, after the event `eventId`.
   *
   * @param cause error that ended the last attempt; undefined for a failed connection
   * @throws when there is no rest. The answer no longer counts as kept
   */
  rest(eventId: string, cause?: unknown): Promise<Response>;
  /** Stops the answer at the proxy, where it would otherwise continue. */
  stop(): void;
}

/** Creates the copy of an answer. With an `id`, an existing copy is read from its start. */
export function createKeptAnswer(
  client: Client,
  exchange: Exchange,
  { headers }: RequestOptions,
  id: string | undefined,
): KeptAnswer {
  let resumed = 0;
  let loading: Promise<typeof import("./resume.js")> | undefined;
  if (id) load();

  return {
    get id() {
      return id;
    },
    get isKept() {
      return loading !== undefined;
    },
    takeId(response) {
      id ??= response.headers.get("x-stream-id") ?? undefined;
      if (id) load();
    },
    advance() {
      resumed = 0;
    },
    all: () => request(""),
    rest(eventId, cause) {
      const response = request(eventId, cause);
      resumed += 1;
      return response.catch((error) => {
        loading = id = undefined;
        throw error;
      });
    },
    stop() {
      loading?.then(({ stopStream }) => stopStream({ client, headers, streamId: id })).catch(() => {});
    },
  };

  async function request(eventId: string, cause?: unknown): Promise<Response> {
    const place = { client, exchange, send, headers, streamId: id, eventId, resumed, cause };
    const { resumeStream } = await (loading as NonNullable<typeof loading>);
    return resumeStream(place);
  }

  /** Loads the code in advance, because the network may be gone when it is needed. */
  function load(): void {
    loading ??= import("./resume.js");
    loading.catch(() => {});
  }
}
