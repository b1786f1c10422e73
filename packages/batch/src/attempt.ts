import {
  type Billing,
  type ChatResult,
  type Client,
  createVideoTask,
  generateImages,
  type ImageResult,
  isGatewayError,
  type RequestOptions,
  ResponseError,
  streamChat,
} from "@sluice/core";
import { canReuseKey, createBackoff, createRandomId } from "@sluice/core/extend";
import { cancelWith } from "@sluice/stores/extend";
import type { Features } from "./features.js";
import type { Entry, Ledger, Write } from "./ledger.js";
import type { BatchOptions } from "./options.js";
import type { Pace } from "./pace.js";
import type { BatchRecord } from "./records.js";
import type { AnyRequest } from "./request.js";

/** Number of retries after a lost response that the proxy can replay. */
const MAX_RETRIES = 3;
const FIRST_WAIT_MS = 1000;
const MAX_WAIT_MS = 30_000;

/** Context that all requests of a run share. */
export interface RunContext {
  readonly client: Client;
  /** Returns the current options. */
  readonly readOptions: () => BatchOptions;
  readonly ledger: Ledger;
  /** Writes records while the run holds its lock. */
  readonly write: Write;
  readonly pace: Pace;
  readonly features: Features;
  /** Aborts requests that the gateway does not have yet, polls and waits. */
  readonly stopped: AbortSignal;
  /** Aborts everything. */
  readonly forgotten: AbortSignal;
}

/** Result of the attempts of a request: a change of its record, or the failure. */
export type AttemptEnd =
  | { readonly change: Partial<BatchRecord> }
  | {
      readonly error: unknown;
      readonly billing: Billing;
      /** True if another attempt with the same key may have been billed. */
      readonly isOpen: boolean;
      /** True if the user's next attempt reuses the key. */
      readonly reusesKey: boolean;
      /** True if only an earlier run sent the request. */
      readonly isFromEarlierRun: boolean;
      /** Round of the pace when the request was sent. */
      readonly round: number;
    };

/**
 * Writes the record of a request with its key, then sends the request. Repeats an attempt with an unknown result only if
 * the proxy replays the response for its key.
 *
 * @throws the error of the storage; the signal's reason
 */
export async function attempt(run: RunContext, entry: Entry): Promise<AttemptEnd> {
  const { client, ledger, features, pace } = run;
  const limits = { limit: MAX_RETRIES, firstMs: FIRST_WAIT_MS, longestMs: MAX_WAIT_MS };
  const backoff = createBackoff(client, limits);
  for (let lastError: unknown; ; ) {
    const { round } = pace;
    const isOpen = entry.record?.open === true || entry.record?.state === "sending";
    try {
      if (isOpen && !(await features.canReplay(entry)))
        return createEnd(lastError ?? new Error(RUN_ENDED), "maybe");
      if (isOpen && lastError) await backoff.wait(lastError, { signal: run.stopped });
    } catch (error) {
      if (error === lastError) return createEnd(error, "maybe");
      run.stopped.throwIfAborted();
      return createEnd(error, "none");
    }
    const { key = createRandomId(), sentAt = Date.now() } = entry.record ?? {};
    await ledger.claim(entry, { state: "sending", key, sentAt, open: isOpen, error: undefined }, run.write);
    const call = cancelWith(createTrackedClient(run, round), run.stopped, run.forgotten);
    try {
      return { change: await send(run, entry, call.client, { signal: call.signal, idempotencyKey: key }) };
    } catch (error) {
      run.forgotten.throwIfAborted();
      const billing = (isGatewayError(error) ? error.billing : undefined) ?? call.billing();
      if (billing === "none") return createEnd(error, billing);
      lastError = error;
      await ledger.save(entry, { open: true }, run.write);
    } finally {
      call.end();
    }

    function createEnd(error: unknown, billing: Billing): AttemptEnd {
      const isFromEarlierRun = billing === "maybe" && lastError === undefined;
      return { error, billing, isOpen, reusesKey: canReuseKey(error, billing), isFromEarlierRun, round };
    }
  }
}

const RUN_ENDED =
  "the run ended before the gateway responded: this request may have been made and billed; check your account";

async function send(
  { readOptions, features }: RunContext,
  { kind, request, checks }: Entry,
  client: Client,
  callOptions: RequestOptions,
): Promise<Partial<BatchRecord>> {
  const { headers, timeout, retry: retries } = readOptions();
  const settings = { headers, timeout, retry: retries, ...callOptions, checks } as RequestOptions<false>;
  const anyRequest = request as AnyRequest;
  if (kind === "video")
    return { state: "created", handle: await createVideoTask(client, anyRequest, settings), open: false };
  if (kind === "image")
    return toResultRecord(assertImages(await generateImages(client, anyRequest, settings)));
  // without a proxy that recognizes the key, a repeated chat may be billed twice
  const retry = (await features.has(kind)) ? settings.retry : { ...settings.retry, limit: 0 };
  return toResultRecord(
    await streamChat(client, anyRequest, { ...settings, ...(retry && { retry }) }).result(),
  );
}

/** Rejects a response without images, which would count as done. */
function assertImages(result: ImageResult): ImageResult {
  if (result.images.length > 0) return result;
  const billing = result.usage?.generated_images === 0 ? "none" : "maybe";
  const error = new ResponseError("the response contains no image", { path: "data", body: "" });
  throw Object.assign(error, { billing });
}

function toResultRecord({ raw: _, ...result }: ImageResult | ChatResult): Partial<BatchRecord> {
  return { state: "received", result, open: false };
}

/** Creates a client that slows the run down after a 429, even if the client retries it. */
function createTrackedClient({ client, pace }: RunContext, round: number): Client {
  return {
    ...client,
    emit(event) {
      if (event.type === "response" && event.status === 429) pace.slowDown(round);
      return client.emit(event);
    },
  };
}
