import type { Client } from "../client.js";
import { type Exchange, type RequestOptions, send } from "../transport/send.js";

/** One answer as the proxy keeps it, where it does: most keep none. */
export interface KeptAnswer {
  /** Id of the answer at the proxy; undefined where it is not kept, and when it is lost there. */
  readonly id: string | undefined;
  /** Tells whether the rest of the answer can be asked for. */
  readonly isKept: boolean;
  /** Takes the id from a response. */
  learn(response: Response): void;
  /** Counts attempts from 0 again: content has come. */
  advance(): void;
  /** Asks for the answer from its start. */
  all(): Promise<Response>;
  /**
   * Asks for the rest of the answer, behind the event `eventId`.
   *
   * @param cause error that ended the last attempt, unless that was the network
   * @throws when there is no more of it; it is not kept then
   */
  rest(eventId: string, cause?: unknown): Promise<Response>;
  /** Tells the proxy to stop the answer, which would go on there. */
  stop(): void;
}

/** Creates what is known of a kept answer; `id` is that of one which is read from its start. */
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
    learn(response) {
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

  /** Loads the code at once where it may be needed, and not only when the network is gone. */
  function load(): void {
    loading ??= import("./resume.js");
    loading.catch(() => {});
  }
}
