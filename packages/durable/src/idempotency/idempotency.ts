import type { ProxyPlugin } from "@sluice/worker-proxy";
import {
  type AdmittedRequest,
  type CallOutcome,
  definePlugin,
  hashText,
  type Refusal,
} from "@sluice/worker-proxy/plugin";
import { createJobs, readKey } from "../jobs/jobs.js";
import { createResponse } from "../jobs/response-stream.js";
import { readWhole, type Sending } from "../jobs/sending.js";
import { checkMilliseconds, checkNames, checkWhole } from "../shared/check-options.js";

/** Options of {@link idempotency}. */
export interface IdempotencyOptions {
  /**
   * Milliseconds for which a response is stored after its end. A day is enough, because clients retry
   * within minutes.
   * @default 86_400_000
   */
  readonly retentionMs?: number;
  /**
   * Maximum size of a stored response, in bytes. A larger response reaches the requests that already wait for it. A
   * later request with the same key gets 502 `response_not_stored` and is not sent.
   * @default 16_777_216
   */
  readonly maxBytes?: number;
  /**
   * Maximum number of stored keys of one user. Beyond it a request with a new key gets 429 `too_many_keys` and is not
   * sent. Only the newest 32 responses above 64 KiB of a user are stored. A repeated request whose large response was
   * deleted gets 502 `response_not_stored`.
   * @default 10_000
   */
  readonly maxPerUser?: number;
}

/** Maximum number of stored responses above 64 KiB of one user. */
const MAX_LARGE = 32;

/** Maximum size of a JSON response, in characters: larger than any response of the gateway's specification. */
const MAX_JSON_CHARACTERS = 32 * 1024 * 1024;

/** Routes that create something. */
const CREATE_ROUTES = ["images", "videos", "assets", "epsilon"];

/**
 * Sends a create request once for each `idempotency-key`. It applies to images, videos, assets and epsilon tasks. All
 * requests with the key get the same response, and only one of them is billed. With this plugin `@sluice/core` retries
 * creates automatically.
 *
 * - A request continues after its client disconnects.
 * - The key can be used again after a refusal, and if the gateway was certainly not reached.
 * - A request that may have been billed is never sent again. If the process ended during the request, a repeated
 *   request gets 502 `request_lost`.
 * - A request with the same key and another body gets 422 `idempotency_mismatch`.
 *
 * The proxy must have a `host`. The plugin reads all other settings from the proxy's options.
 *
 * @throws {TypeError} for an unknown or invalid option
 * @example
 * ```ts
 * export default createProxy<Env>({ ...options, host: nodeHost({ file: "sluice.db" }), plugins: [idempotency()] });
 * ```
 */
export function idempotency<Env = unknown>(options: IdempotencyOptions = {}): ProxyPlugin<Env> {
  checkNames("idempotency", options, ["retentionMs", "maxBytes", "maxPerUser"]);
  const retentionMs = checkMilliseconds("retentionMs", options.retentionMs ?? 86_400_000);
  const maxBytes = checkWhole("maxBytes", options.maxBytes ?? 16 * 1024 * 1024);
  const jobs = createJobs({
    plugin: "idempotency",
    kind: "creates",
    eventJob: "create",
    isStream: false,
    retentionMs,
    maxBytes,
    maxJobs: checkWhole("maxPerUser", options.maxPerUser ?? 10_000),
    maxLarge: MAX_LARGE,
    lostCode: "request_lost",
    respond: (sending) => readWhole(sending, MAX_JSON_CHARACTERS),
    isFree: isNotSent,
  });
  return definePlugin({
    storage: jobs.storage,
    connect: jobs.connect,
    createRoutes: jobs.createRoutes,
    features: Object.fromEntries([...CREATE_ROUTES, "health"].map((route) => [route, "idempotency"])),
    userData: jobs.userData,
    send(admitted) {
      // a request with an id is a poll or a lookup, which costs nothing
      const isCreate = CREATE_ROUTES.includes(admitted.route) && admitted.id === undefined;
      const hasKey = admitted.request.headers.has("idempotency-key");
      return isCreate && hasKey ? send(admitted as AdmittedRequest<unknown>) : undefined;
    },
  });

  async function send(admitted: AdmittedRequest<unknown>) {
    const id = await hashText(readKey(admitted.request) ?? "");
    const eventId = admitted.headers?.["x-request-id"] ?? id;
    const stored = await jobs.send(admitted, { id, eventId });
    return { response: createResponse(stored), isReplayed: stored.isReplayed };
  }
}

/** Returns true if the gateway refused the request or was not reached. After a timeout (408) it may still act. */
function isNotSent({ call }: Sending, _: Refusal, outcome: CallOutcome): boolean {
  if (outcome === "not_reached") return true;
  const { upstreamStatus: status = 0 } = call.metadata;
  return status >= 400 && status < 500 && status !== 408;
}
