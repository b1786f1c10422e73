import type { ChatResult, ChatUsage, ClientEvent, ImageResult, VideoTask } from "@sluice/core";
import { isRecord } from "./is-record.js";
import { ofPieces } from "./money.js";
import { type Prices, type Rates, rateTableOf } from "./prices.js";
import { type Cost, createTally, type Known, type Tally } from "./tally.js";
import { chatCost, imageCost } from "./usage-cost.js";
import { known, reportedFacts, requestedFacts, videoCost } from "./video-cost.js";

/** A result together with its request. The request has what the gateway does not report. */
interface RequestedResult {
  /** The request as it was sent, with its `model`. */
  readonly request: object;
  /** Its result. */
  readonly result: Result;
}

/** A request and the `usage` of its response: what a server knows of it. */
interface RequestedUsage {
  /** The request as it was sent, with its `model`. */
  readonly request: object;
  /** The `usage` of the response. */
  readonly usage: unknown;
}

/** A request of a batch: a member of `batch.getItems()`, or what `onResult` gets. */
interface PricedItem {
  /** Kind of the request. */
  readonly kind: "image" | "video" | "chat";
  /** Model of the request. */
  readonly model: string;
  /** State of the request; absent from a result. */
  readonly state?: "waiting" | "running" | "done" | "failed" | "unconfirmed";
  /** Its result, once it exists. */
  readonly result?: Result;
  /** Error of a failed or unconfirmed request. */
  readonly error?: Error;
}

/** A result. Batches keep it without `raw`. */
type Result = WithoutRaw<ChatResult | ImageResult | VideoTask>;
type WithoutRaw<T> = T extends unknown ? Omit<T, "raw"> : never;

/** A message of a chat store. */
interface PricedMessage {
  /** Author of the message. Only a response has a cost. */
  readonly role: "system" | "user" | "assistant";
  /** Model of the response. */
  readonly model?: string;
  /** Tokens of the response, once they are known. */
  readonly usage?: ChatUsage;
  /** End of the response; absent while it is in flight. */
  readonly outcome?: string;
  /** Error of a response that did not end well. */
  readonly error?: Error;
}

/** A message of `store.getThread()`. */
interface PricedNode {
  /** Id of the message before it; undefined for a first message. */
  readonly parentId: string | undefined;
  /** The message. */
  readonly message: PricedMessage;
}

/** A value that has a cost, or several of them: see {@link calculateCost}. */
export type Priced =
  | PricedMessage
  | PricedNode
  | Result
  | RequestedResult
  | RequestedUsage
  | PricedItem
  | ClientEvent
  | Cost
  | Iterable<Priced>;

/**
 * Calculates the cost of one value, or of several. An unknown cost is in `missing`; it never counts as free.
 *
 * - a message of a thread, or a list of them: `messages` for the shown ones, `store.getThread()` for all that were paid
 * - a {@link ChatResult}, an {@link ImageResult}, a {@link VideoTask}. Give `{ request, result }` for a video whose length
 *   the gateway does not report
 * - `{ request, usage }`, for a server that knows no more of a response
 * - requests of a batch, `batch.getItems()`. An unconfirmed request is in `missing`
 * - events of `onEvent`. Only `end` events have a cost
 * - other costs: `calculateCost([a, b], prices)` adds them exactly
 *
 * @throws {TypeError} for a table that {@link definePrices} refuses, for any other value, and for a cost in another currency
 * @example
 * ```ts
 * const prices = definePrices({ currency: "EUR", models: { "delta-5.3": { input: 0.5, output: 2 } } });
 * const turn = await completeChat(client, { model: "delta-5.3", messages: [{ role: "user", content: "Hi" }] });
 * const { amount, missing } = calculateCost(turn, prices);
 * show(missing.length === 0 ? `${amount} EUR` : `${amount} EUR and more`);
 * ```
 */
export function calculateCost(value: Priced, prices: Prices): Cost {
  const tally = createTally(rateTableOf(prices));
  count(value, tally, undefined);
  return tally.cost();
}

type Fields = Readonly<Record<string, unknown>>;

function count(value: unknown, tally: Tally, request: Fields | undefined): void {
  if (isList(value)) for (const one of value) count(one, tally, request);
  else if (!isRecord(value))
    throw new TypeError("calculateCost: give a message, a result, a task, an event, or a list of them");
  else if ("amount" in value) tally.addCost(value as unknown as Cost);
  else if ("request" in value && "usage" in value)
    countUsage(value["usage"], tally, value["request"] as Fields);
  else if ("request" in value) count(value["result"], tally, value["request"] as Fields);
  else if ("type" in value) countEvent(value as unknown as ClientEvent, tally);
  else if ("kind" in value) countItem(value as unknown as PricedItem, tally);
  else if ("role" in value) countMessage(value as unknown as PricedMessage, tally);
  else if ("parentId" in value) count(value["message"], tally, request);
  else if ("timing" in value) countTurn(value as unknown as ChatResult, tally);
  else if ("rawStatus" in value) countVideo(value as unknown as VideoTask, tally, request);
  else if ("images" in value) countImages(value as unknown as ImageResult, tally, request);
  else throw new TypeError(`calculateCost: knows no cost of { ${Object.keys(value).join(", ")} }`);
}

function countUsage(usage: unknown, tally: Tally, { model, size }: Fields): void {
  const counts = isRecord(usage) ? usage : {};
  // all images of a request have one size
  const sizes = counts["generated_images"] === undefined ? undefined : [size as string | undefined];
  tally.add(model as string | undefined, (rates) =>
    counts["prompt_tokens"] === undefined ? imageCost(rates, usage, sizes) : chatCost(rates, usage),
  );
}

function isList(value: unknown): value is Iterable<unknown> {
  return typeof value === "object" && value !== null && Symbol.iterator in value;
}

function countMessage({ role, model, usage, outcome, error }: PricedMessage, tally: Tally): void {
  if (role !== "assistant" || (!usage && isFree(error))) return;
  if (!usage && outcome === undefined) tally.miss("not-ended", model);
  else tally.add(model, (rates) => chatCost(rates, usage));
}

/** Returns true for the error of a request that the gateway did not accept. */
function isFree(error: unknown): boolean {
  return (error as { readonly billing?: unknown } | undefined)?.billing === "none";
}

function countItem({ model, state, result, error }: PricedItem, tally: Tally): void {
  if (result) count(result, tally, undefined);
  else if (state === "running") tally.miss("not-ended", model);
  else if (state !== "waiting" && !isFree(error)) tally.miss("no-usage", model);
}

function countTurn({ model, usage }: ChatResult, tally: Tally): void {
  tally.add(model, (rates) => chatCost(rates, usage));
}

function countImages({ model, usage, images }: ImageResult, tally: Tally, request: Fields | undefined): void {
  const made = images.filter(({ error }) => !error);
  const requested = request?.["size"] as string | undefined;
  tally.add(model, (rates) =>
    imageCost(
      rates,
      usage,
      made.map(({ size = requested }) => size),
    ),
  );
}

function countVideo(task: VideoTask, tally: Tally, request: Fields | undefined): void {
  const model = task.model ?? (request?.["model"] as string | undefined);
  if (task.state !== "succeeded") return tally.miss("not-ended", model);
  const unknown = { seconds: undefined, resolution: undefined, hasAudio: undefined, inputSeconds: undefined };
  const requested = request ? requestedFacts(request) : { ...unknown, tokens: undefined };
  tally.add(model, (rates) => videoCost(rates, { ...requested, ...known(reportedFacts(task.raw)) }));
}

/** Counters of the cost of a call that ended, by the kind of the call. Files cost nothing. */
const ofCalls: { readonly [Kind in string]?: (rates: Rates, usage: unknown) => Known } = {
  chat: chatCost,
  image: (rates, usage) => imageCost(rates, usage, undefined),
  // an event tells neither the length nor the size of a video
  video: () => "no-usage",
  asset: (rates) => (typeof rates.asset === "bigint" ? ofPieces(rates.asset, 1) : "no-price"),
  epsilon: () => "no-usage",
};

function countEvent(event: ClientEvent, tally: Tally): void {
  if (event.type !== "end") return;
  const { kind, model, usage, outcome, error, path } = event;
  const cost = ofCalls[kind];
  // a query has no model and costs nothing; a create call of epsilon has no model either
  if (!cost || (model === undefined && !/2video$/.test(path))) return;
  if (!usage && (outcome === "not-sent" || isFree(error))) return;
  if (!usage && FAILED.includes(outcome)) tally.miss("no-usage", model);
  else tally.add(model, (rates) => cost(rates, usage));
}

/** Outcomes of calls that may be billed without a response. */
const FAILED: readonly string[] = ["stopped", "truncated", "error"];
