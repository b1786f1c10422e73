import { noteOptions } from "@sluice/core/extend";
import { systemClock, waitForAbort } from "./base/clock.js";
import { createFaultServer, isFaultPath } from "./fault-cases/serve-faults.js";
import { createGateway } from "./gateway.js";
import { assertKeys, type EmulatorOptions } from "./options.js";
import { createRules } from "./script/rules.js";
import { checkScript } from "./script/script.js";
import { corsHeaders, handlePreflight } from "./server/cors.js";
import { createDifferences } from "./server/differences.js";
import type { Exchange, Handler } from "./server/exchange.js";
import { hash } from "./server/hash.js";
import {
  createJSON,
  createMethodNotAllowed,
  createNotFound,
  createUnauthorized,
  type HandlerResponse,
} from "./server/http.js";
import { listModelIds } from "./server/model-ids.js";
import { breakBody, createRefusedError, type Fault } from "./server/network-faults.js";
import { describePathHint } from "./server/path-hint.js";
import { toRequest } from "./server/request.js";
import { readBody } from "./server/request-body.js";
import {
  closeRecord,
  createRequestLog,
  type EmulatorRequest,
  type OpenRecord,
} from "./server/request-log.js";
import { type BodyEnd, createPulledBody } from "./server/response-body.js";
import { matchRoute } from "./server/router.js";
import { createRedactor } from "./server/secrets.js";

/** The gateway that {@link createEmulator} returns. */
export interface Emulator {
  /**
   * Handles a request as the gateway would. Use it as the `fetch` of a client or as the handler of a server; it works
   * detached. Rejects as `fetch` does: with the signal's reason, or with a `TypeError` for a network fault.
   */
  readonly fetch: (input: Request | URL | string, init?: RequestInit) => Promise<Response>;
  /**
   * Options that point `createClient` to this emulator: `createClient(emulator.clientOptions)`. They work in every
   * runtime, also in tests with a DOM: the key is a header, and nothing leaves the process.
   */
  readonly clientOptions: {
    readonly baseURL: string;
    readonly fetch: Emulator["fetch"];
    readonly headers: Readonly<Record<string, string>>;
  };
  /** The last requests, oldest first. */
  readonly requests: readonly EmulatorRequest[];
  /** Deletes all requests, tasks, assets, files, prompt caches and counts. Responses in flight continue. */
  readonly reset: () => void;
}

/**
 * Creates the multi-model gateway of the specification in this process: no network, no cost. The same requests in the
 * same order get the same responses and ids. Only times depend on the clock.
 *
 * A fault in the prompt makes a request fail, with any client. Write it into the last user message of a chat, the prompt
 * of an image or a video, the `Name` of an asset, or any text of an epsilon request. Faults combine: `[[slow]] [[drop]]`.
 * `GET /` says what each does.
 *
 * | fault             | requests                   | effect                                                   |
 * | ----------------- | -------------------------- | -------------------------------------------------------- |
 * | `[[429]]`         | all                        | 429 with `Retry-After: 1`                                |
 * | `[[500]]`         | all                        | 500                                                      |
 * | `[[slow]]`        | all                        | takes long                                               |
 * | `[[stall]]`       | all                        | no response, or silence after some text                  |
 * | `[[truncate]]`    | all                        | the response ends early, as if it were whole             |
 * | `[[drop]]`        | all                        | the connection breaks within the response                |
 * | `[[malformed]]`   | all                        | broken JSON                                              |
 * | `[[unconfirmed]]` | chat                       | `[DONE]` without a `finish_reason`                       |
 * | `[[error-frame]]` | chat                       | an error within the stream                               |
 * | `[[length]]`      | chat                       | cut, `finish_reason: "length"`                           |
 * | `[[filter]]`      | chat                       | cut, `finish_reason: "content_filter"`                   |
 * | `[[json]]`        | chat                       | the text is JSON                                         |
 * | `[[partial]]`     | images                     | the second image of a sequence is an error               |
 * | `[[fail]]`        | videos, assets and epsilon | the task or asset fails                                  |
 * | `[[no-url]]`      | videos                     | the task succeeds without a URL                          |
 * | `[[flat]]`        | videos                     | `gamma-video-2.0` and `-fast` respond without envelope   |
 * | `[[unknown]]`     | videos                     | the first 2 queries show an unknown status               |
 * | `[[late]]`        | videos                     | the first 2 queries respond with 404                     |
 * | `[[busy]]`        | videos                     | the first 2 queries respond with 429                     |
 *
 * A count bounds a fault: `[[429:2]]` refuses two requests with that body, then one succeeds. A label counts apart:
 * `[[truncate:1:second]]`. A misspelt fault is refused with 400 and the nearest name. `[[Page name]]` and other text in
 * brackets stay text.
 *
 * A chat calls a tool if `tool_choice` demands it, or if the prompt says so: "use get_weather". If a request shows a JSON
 * Schema, the response fits it.
 *
 * @throws TypeError if `apiKeys` is empty or has an empty key, `speed` is not above 0, `script` has a wrong field, or
 *   `differs` has an unknown name.
 * @example
 * ```ts
 * const emulator = createEmulator();
 * const client = createClient(emulator.clientOptions);
 * const { message } = await completeChat(client, {
 *   model: "delta-5.3",
 *   messages: [{ role: "user", content: "Tell me about rain" }],
 * });
 * ```
 */
export function createEmulator(options: EmulatorOptions = {}): Emulator {
  assertKeys(options);
  noteOptions("createEmulator", options, { warn: printWarning });
  const { apiKeys, clock = systemClock, speed = 1, cors = false, faults } = options;
  if (!(speed > 0)) throw new TypeError(`speed must be above 0, got ${speed}; use Infinity for no waiting`);

  const requestLog = createRequestLog(options.maxRequests ?? 1000);
  const rules = createRules(checkScript(options.script ?? { replies: [] }));
  const gateway = createGateway(options, requireKey);
  const redactor = createRedactor(apiKeys);
  const differences = createDifferences(options.differs ?? []);
  const faultServer = createFaultServer(options.faultCases ?? [], clock);
  const routes = {
    ...gateway.routes,
    "/journal": { GET: requireKey(handleJournal) },
  };
  // keep a reference: platforms drop the signal of an unreferenced request
  const inFlight = new Set<Request>();
  let count = 0;

  const headers: Record<string, string> = apiKeys?.[0] ? { authorization: `Bearer ${apiKeys[0]}` } : {};
  const clientOptions = { baseURL: options.origin ?? "https://gateway.test", fetch: receive, headers };
  return { fetch: receive, clientOptions, requests: requestLog.requests, reset };

  async function receive(input: Request | URL | string, init?: RequestInit): Promise<Response> {
    const request = toRequest(input, init);
    request.signal.throwIfAborted();
    const nth = ++count;
    const body = await readBody(request);
    const id = `req_${hash(`${request.method} ${request.url} ${body.text}`)}_${nth}`;
    const record = requestLog.openRecord(request, body.text, id, clock.now());
    inFlight.add(request);
    try {
      // a request below `/faults` must not use up a rule of the script
      const scripted = isFaultPath(record.path) ? undefined : rules.take(record.body);
      const exchange = {
        ...body,
        id,
        request,
        origin: getOrigin(request),
        param: "",
        record,
        scripted,
      };
      return await handleExchange(exchange, faults?.(record, nth));
    } catch (error) {
      endRequest(record, request.signal.aborted ? "aborted" : "broken");
      throw request.signal.aborted ? request.signal.reason : error;
    } finally {
      inFlight.delete(request);
    }
  }

  async function handleExchange(exchange: Exchange, fault: Fault | undefined): Promise<Response> {
    const { request } = exchange;
    if (fault === "refuse") throw createRefusedError();
    if (fault === "hang") return waitForAbort(request.signal);
    const response = differences.change(await handle(exchange), exchange);
    request.signal.throwIfAborted();
    return respond(fault === "reset" ? breakBody(response) : response, exchange);
  }

  function handle(exchange: Exchange): HandlerResponse | Promise<HandlerResponse> {
    const { method, path } = exchange.record;
    if (cors && method === "OPTIONS" && isFaultPath(path)) return handlePreflight(["GET", "POST"]);
    const faultResponse = faultServer.handle(exchange);
    if (faultResponse) return faultResponse;
    const route = matchRoute(routes, path);
    if (!route)
      return createNotFound(path, describePathHint(path, gateway.routes, exchange.origin, modelIds));
    const { methods, param } = route;
    if (cors && method === "OPTIONS") return handlePreflight(Object.keys(methods));
    const handler = Object.hasOwn(methods, method) ? methods[method] : undefined;
    return handler ? handler({ ...exchange, param }) : createMethodNotAllowed(method, Object.keys(methods));
  }

  function respond({ status, headers, body }: HandlerResponse, { id, record, request }: Exchange): Response {
    record.status = status;
    if (status >= 400 && typeof body === "string") record.error = readMessage(body);
    const names = [...record.unknownFields, ...record.unknownFaults.map((fault) => `[[${fault}]]`)];
    const unknown = names.length > 0 && { [UNKNOWN_NAMES_HEADER]: joinNames(names) };
    const requestId = differences.hasRequestId && { "x-request-id": id };
    const allHeaders = { ...headers, ...unknown, ...(cors ? corsHeaders : {}), ...requestId };
    if (typeof body === "function" && request.method !== "HEAD") {
      const pulled = createPulledBody(request, body, (bodyEnd) => endRequest(record, bodyEnd));
      return new Response(pulled, { status, headers: allHeaders });
    }
    endRequest(record, "finished");
    // a 204 and the response to HEAD must not have a body
    const isBodiless = typeof body === "function" || request.method === "HEAD" || body === "";
    return new Response(isBodiless ? null : body, { status, headers: allHeaders });
  }

  /** Handles `GET /journal`: returns the requests to other paths without secrets, oldest first. */
  function handleJournal(): HandlerResponse {
    const others = requestLog.requests.filter(({ path }) => path !== "/journal");
    return createJSON({ requests: redactor.redactValue(others) });
  }

  function endRequest(record: OpenRecord, bodyEnd: BodyEnd) {
    if (closeRecord(record, bodyEnd, clock.now())) options.onEnd?.(record);
  }

  function getOrigin(request: Request): string {
    return options.origin?.replace(/\/+$/, "") ?? new URL(request.url).origin;
  }

  function requireKey(handler: Handler): Handler {
    if (!apiKeys) return handler;
    return (exchange) => {
      const [, key] = /^bearer +(\S+) *$/i.exec(exchange.request.headers.get("authorization") ?? "") ?? [];
      return key !== undefined && apiKeys.includes(key) ? handler(exchange) : createUnauthorized();
    };
  }

  function reset() {
    requestLog.clear();
    gateway.clear();
    faultServer.clear();
    differences.clear();
    rules.clear();
    count = 0;
  }
}

function printWarning({ path, message }: { readonly path: string; readonly message: string }): void {
  // biome-ignore lint/suspicious/noConsole: the only channel to the developer
  console.warn(`@sluice/emulator: ${path}: ${message}`);
}

/** Returns the message in the body of a refusal, or the body if it is not JSON. */
function readMessage(body: string): string {
  try {
    return String(JSON.parse(body).error.message);
  } catch {
    return body;
  }
}

const modelIds = [...listModelIds("chat"), ...listModelIds("image"), ...listModelIds("video")];
const UNKNOWN_NAMES_HEADER = "x-sluice-unknown-fields";
const MAX_LISTED_CHARACTERS = 2000;

/** Joins names for a header: at most 2,000 characters of ASCII. */
function joinNames(names: readonly string[]): string {
  return names
    .join(", ")
    .slice(0, MAX_LISTED_CHARACTERS)
    .replace(/[^ -~]/g, "?");
}
