import type { GatewayConnection, PluginServer } from "../api/host.js";
import type { Timeout } from "../api/options.js";
import type { CallOutcome, Usage } from "../api/plugin.js";
import { openCall } from "../gateway/call.js";
import type { StreamEnd } from "../gateway/exchange.js";
import { containsKey, selectHeaders } from "../gateway/key.js";
import { parseJSON, readText } from "../gateway/read-json.js";
import { readRefusal } from "../gateway/read-refusal.js";
import { type Outgoing, type RequestNotes, sendRequest } from "../gateway/request.js";
import { checkType } from "../gateway/respond.js";
import { isCredential } from "../refusals/log.js";
import type { EventBytesOptions } from "./chat-events.js";
import { readOutcome, readUsage } from "./json-outcome.js";
import { readEventStream } from "./relay.js";

/** The JSON of a response. */
interface GatewayJSON {
  /** The parsed JSON; undefined where the response contains a key of the gateway: pass nothing of it on. */
  readonly json: unknown;
  /** The same JSON as it came; undefined like `json`. */
  readonly text: string | undefined;
  /** The outcome of the call, for a meter. */
  readonly outcome: CallOutcome;
  /** The usage, for a meter; undefined where the gateway reports none. */
  readonly usage: Usage | undefined;
}

/** Options of a stream's reader. */
interface ReadEventsOptions extends Omit<EventBytesOptions, "keys"> {
  /** Called after each piece is read, with all its events. @default nothing */
  readonly onPass?: () => void;
  /** Waits before each read, for a consumer that is slower than the gateway. @default no wait */
  readonly waitToRead?: () => Promise<void>;
}

/**
 * Opens a request of a plugin to the gateway, with the checks and the times of the proxy's own requests. Close it.
 *
 * @param timeout times in milliseconds that replace those of the proxy
 * @example
 * ```ts
 * async function queryTask(server: PluginServer<Env>): Promise<unknown> {
 *   const call = openGatewayCall(server, env, { totalMs: 60_000 });
 *   try {
 *     await call.send({ method: "GET", path: "/v1/video/generations/task-1" });
 *     return (await call.readJSON(1_000_000)).json;
 *   } finally {
 *     call.close();
 *   }
 * }
 * ```
 */
export function openGatewayCall<Env>(
  server: Pick<PluginServer<Env>, "connect" | "timeout">,
  env: Env,
  timeout: Pick<Timeout, "firstChunkMs" | "chunkMs" | "totalMs"> = {},
) {
  const { totalMs, chunkMs } = { ...server.timeout, ...timeout };
  const call = openCall(new AbortController().signal, totalMs);
  const report: RequestNotes = { known: {} };
  let gateway: GatewayConnection | undefined;
  let keys: readonly string[] = [];
  let response = new Response();
  let headers: Readonly<Record<string, string>> = {};
  return {
    /** Status of the gateway and number of attempts, for events. There are two attempts if a key was refused. */
    metadata: report.known,
    /** The headers of the response that a client may get: `x-request-id` and `retry-after`. */
    get headers() {
      return headers;
    },

    /**
     * Reads the address and the keys of the gateway. `send` does it, too: call it first where a wrong setting must be
     * found before a request is paid for.
     *
     * @throws {Refusal} 500 `misconfigured`
     */
    async connect(): Promise<void> {
      gateway ??= await server.connect(env);
    },

    /**
     * Sends the request. `path` is a constant, or has an id that was checked.
     *
     * @returns the type of the response. Read JSON by `readJSON`, and a stream by `readEvents`
     * @throws {Refusal} for an error response, for another type, and without a response; `details.outcome` says whether
     *   the gateway may have acted
     */
    async send(request: Outgoing): Promise<"application/json" | "text/event-stream"> {
      gateway ??= await server.connect(env);
      const credentials = Object.entries(request.headers ?? {}).filter(([name]) => isCredential(name));
      keys = [...gateway.apiKeys, ...credentials.map(([, value]) => value)];
      const { firstChunkMs: headersMs = gateway.headersMs } = timeout;
      response = await sendRequest({ ...gateway, headersMs }, request, { call, report });
      headers = selectHeaders(response, keys);
      if (!response.ok) throw await readRefusal({ response, call }, keys, chunkMs);
      const { type } = checkType(response, request.body?.["stream"] === true);
      return type === "application/json" ? type : "text/event-stream";
    },

    /**
     * Reads a response of JSON.
     *
     * @param maxCharacters its largest size
     * @throws {Refusal} 504 for a late response, 502 for a cut, a larger one or invalid JSON
     */
    async readJSON(maxCharacters: number): Promise<GatewayJSON> {
      const text = await readText({ response, call }, maxCharacters, chunkMs);
      const json = parseJSON(text);
      call.close(true);
      const isSafe = !containsKey(text, keys);
      return {
        ...(isSafe ? { json, text } : { json: undefined, text: undefined }),
        outcome: readOutcome(json),
        usage: readUsage(json),
      };
    },

    /** Reads an event stream to its end, with the checks of `readStreams()`. The end has the failure, too. */
    readEvents({ waitToRead, ...options }: ReadEventsOptions): Promise<StreamEnd> {
      const { body } = checkType(response, true);
      return new Promise((resolve, reject) => {
        const next = readEventStream(body, call, { ...options, keys, stallMs: chunkMs, onEnd: resolve });
        const readAll = async () => {
          do await waitToRead?.();
          while (await next());
        };
        readAll().catch(reject);
      });
    },

    /** Ends the request, as for a client that has left. */
    stop: () => call.stop("client_left"),
    /** Releases the timer and the connection. */
    close: call.close,
  };
}
