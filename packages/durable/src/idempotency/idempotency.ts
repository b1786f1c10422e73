import type { AdmittedRequest, CallOutcome, ProxyPlugin } from "@sluice/worker-proxy";
import { checkType, hashText, isUnconnected, markStored, type Refusal } from "@sluice/worker-proxy/plugin";
import { createJobs, readKey } from "../jobs/jobs.js";
import { createRefusalHead, jobRefusal } from "../jobs/refusals.js";
import { readWhole, type Sending } from "../jobs/sending.js";
import { checkMilliseconds, checkNames, checkWhole } from "../shared/check-options.js";

/** Options of {@link idempotency}. */
export interface IdempotencyOptions {
  /** Time for which a response is stored, in milliseconds from its request on. A day at most serves: clients repeat within minutes. @default 86_400_000 */
  readonly retentionMs?: number;
  /**
   * Size of the largest response that is stored, in bytes. A larger one reaches the requests that wait for it. Later ones
   * get 502 `answer_not_kept`, and nothing is sent.
   * @default 16_777_216
   */
  readonly maxBytes?: number;
  /**
   * Largest number of stored keys of one user. A request with a new key beyond it gets 429 `too_many_keys`, and is not sent.
   * Of responses above 64 KiB the newest 32 of a user are stored; a repetition of an older one gets 502 `answer_not_kept`.
   * @default 10_000
   */
  readonly maxPerUser?: number;
}

/** Number of responses above 64 KiB that are stored for one user. */
const MAX_LARGE = 32;

/** Larger than any JSON of the spec. */
const MAX_JSON_CHARACTERS = 32 * 1024 * 1024;

/** The groups of routes that create something. */
const CREATES = ["images", "videos", "assets", "epsilon"];

/**
 * Sends a request that creates something once for its `idempotency-key`: an image, a video, an asset or an epsilon task.
 * All requests with the key get the same response, and one of them is billed. `@sluice/core` then repeats creates by
 * itself.
 *
 * - A request goes on when its client leaves.
 * - After a refusal, and if the gateway was certainly not reached, the key is free again.
 * - A request that may have been billed is never sent again. One that was lost with its process is 502 `request_lost`.
 * - Another body under the same key is 422 `idempotency_mismatch`.
 *
 * It needs the `host` of the proxy, and takes everything else from the proxy's options.
 *
 * @throws {TypeError} for an option that is unknown or can't work
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
    kind: "creates",
    eventKind: "create",
    isStream: false,
    retentionMs,
    isFromStart: true,
    maxBytes,
    maxJobs: checkWhole("maxPerUser", options.maxPerUser ?? 10_000),
    maxLarge: MAX_LARGE,
    lostCode: "request_lost",
    respond(sending, response) {
      checkType(response, false);
      return readWhole(sending, response, MAX_JSON_CHARACTERS);
    },
    storeFailure({ live }, refusal) {
      live.head = createRefusalHead(refusal);
    },
    isFree: isNotSent,
    // nothing of an erased user stays, not even the key
    stop: () => jobRefusal("user_erased"),
  });
  return {
    storage: jobs.storage,
    connect: jobs.connect,
    createRoutes: jobs.createRoutes,
    offers: Object.fromEntries([...CREATES, "health"].map((route) => [route, "once"])),
    userData: jobs.userData,
    send(admitted) {
      // with an id it is a poll or a lookup, which costs nothing
      const isCreate = CREATES.includes(admitted.route) && admitted.id === undefined;
      const hasKey = admitted.request.headers.has("idempotency-key");
      return isCreate && hasKey ? send(admitted as AdmittedRequest<unknown>) : undefined;
    },
  };

  async function send(admitted: AdmittedRequest<unknown>): Promise<Response> {
    const id = await hashText(readKey(admitted.request) ?? "");
    const eventId = admitted.headers?.["x-request-id"] ?? id;
    const { head, body, isReplayed } = await jobs.send(admitted, { id, eventId });
    const { status, headers, type } = head;
    return markStored(new Response(body, { status, headers: { ...headers, "content-type": type } }), {
      isReplayed,
    });
  }
}

/** Returns true if the gateway said that it did nothing, or was not reached. 408 is the end of a wait. */
function isNotSent({ isSent, status }: Sending, { cause }: Refusal, _: CallOutcome): boolean {
  if (!isSent || (status === 0 && isUnconnected(cause))) return true;
  return status >= 400 && status < 500 && status !== 408;
}
