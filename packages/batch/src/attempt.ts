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
import type { AnyRequest } from "@sluice/core/internal";
import { cancelWith, canReuseKey, createBackoff, createRandomId } from "@sluice/core/internal";
import type { Entry, Ledger, Write } from "./ledger.js";
import type { Offers } from "./offers.js";
import type { BatchOptions } from "./options.js";
import type { Pace } from "./pace.js";
import type { BatchRecord } from "./records.js";

/** Number of times that a lost answer is asked for again, where the proxy has it. */
const MOST_REPEATS = 3;
const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 30_000;

/** Parts that the requests of one run share. */
export interface RunContext {
  readonly client: Client;
  /** Returns the options as they are now. */
  readonly options: () => BatchOptions;
  readonly ledger: Ledger;
  /** Writes records while the run holds its lock. */
  readonly write: Write;
  readonly pace: Pace;
  readonly offers: Offers;
  /** Ends what the gateway does not have yet, polls and waits. */
  readonly stopped: AbortSignal;
  /** Ends everything. */
  readonly forgotten: AbortSignal;
}

/** End of the attempts at one request: what it changes in the record, or why there is no answer. */
export type AttemptEnd =
  | { readonly change: Partial<BatchRecord> }
  | {
      readonly error: unknown;
      readonly billing: Billing;
      /** True if another attempt with the same key may have been billed. */
      readonly isOpen: boolean;
      /** True if the user's next attempt has the same key. */
      readonly keepsKey: boolean;
      readonly ticket: number;
    };

/**
 * Sends a request. Its record is written first, with its key. A request with an attempt whose end is not known is sent
 * only where the proxy answers the key from its memory.
 *
 * @throws the error of the storage; the reason of a signal
 */
export async function attempt(run: RunContext, entry: Entry): Promise<AttemptEnd> {
  const { client, ledger, offers, pace } = run;
  const limits = { limit: MOST_REPEATS, firstMs: FIRST_WAIT_MS, longestMs: LONGEST_WAIT_MS };
  const backoff = createBackoff(client, limits);
  for (let last: unknown; ; ) {
    const ticket = pace.ticket();
    const isOpen = entry.record?.open === true || entry.record?.state === "sending";
    try {
      if (isOpen && !(await offers.remembers(entry))) return ended(last ?? new Error(LEFT), "maybe");
      if (isOpen && last) await backoff.wait(last, { signal: run.stopped });
    } catch (error) {
      if (error === last) return ended(error, "maybe");
      run.stopped.throwIfAborted();
      return ended(error, "none");
    }
    const { key = createRandomId(), sentAt = Date.now() } = entry.record ?? {};
    await ledger.claim(entry, { state: "sending", key, sentAt, open: isOpen, error: undefined }, run.write);
    const call = cancelWith(tracked(run, ticket), run.stopped, run.forgotten);
    try {
      return { change: await send(run, entry, call.client, { signal: call.signal, idempotencyKey: key }) };
    } catch (error) {
      run.forgotten.throwIfAborted();
      const billing = (isGatewayError(error) ? error.billing : undefined) ?? call.billing();
      if (billing === "none") return ended(error, billing);
      last = error;
      await ledger.save(entry, { open: true }, run.write);
    } finally {
      call.end();
    }

    function ended(error: unknown, billing: Billing): AttemptEnd {
      return { error, billing, isOpen, keepsKey: canReuseKey(error, billing), ticket };
    }
  }
}

const LEFT =
  "the run ended before the gateway answered: this request may have been made and billed; check your account";

async function send(
  { options, offers }: RunContext,
  { kind, request, checks }: Entry,
  client: Client,
  given: RequestOptions,
): Promise<Partial<BatchRecord>> {
  const { headers, timeout, retry: retries } = options();
  const more = { headers, timeout, retry: retries, ...given, checks } as RequestOptions<false>;
  const asked = request as AnyRequest;
  if (kind === "video")
    return { state: "created", handle: await createVideoTask(client, asked, more), open: false };
  if (kind === "image") return answered(withImage(await generateImages(client, asked, more)));
  // without a proxy that knows the key, a chat that is repeated may be billed twice
  const retry = (await offers.has(kind)) ? more.retry : { ...more.retry, limit: 0 };
  return answered(await streamChat(client, asked, { ...more, ...(retry && { retry }) }).result());
}

/** Refuses an answer with an empty list: it would count as done. */
function withImage(result: ImageResult): ImageResult {
  if (result.images.length > 0) return result;
  const billing = result.usage?.generated_images === 0 ? "none" : "maybe";
  const error = new ResponseError("the gateway answered without an image", { path: "data", body: "" });
  throw Object.assign(error, { billing });
}

function answered({ raw: _, ...result }: ImageResult | ChatResult): Partial<BatchRecord> {
  return { state: "answered", result, open: false };
}

/** Makes a client whose own repetitions of a 429 slow the run down, too. */
function tracked({ client, pace }: RunContext, ticket: number): Client {
  return {
    ...client,
    emit(event) {
      if (event.type === "response" && event.status === 429) pace.slowDown(ticket);
      client.emit(event);
    },
  };
}
