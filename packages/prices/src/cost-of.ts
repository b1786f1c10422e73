import type { ChatTurn, ChatUsage, ClientEvent, ImageResult, VideoTask } from "@sluice/core";
import { isRecord } from "@sluice/core/internal";
import { ofPieces } from "./money.js";
import { type Prices, type Rates, rateTableOf } from "./prices.js";
import { type Cost, createTally, type Known, type Tally } from "./tally.js";
import { chatCost, imageCost } from "./usage-cost.js";
import { known, reportedFacts, requestedFacts, videoCost } from "./video-cost.js";

/** A result together with the request that it answers. The request tells what the gateway does not report. */
export interface RequestedResult {
  /** The request as it was sent, with its `model`. */
  readonly request: object;
  /** Its result. */
  readonly result: Result;
}

/** A request of a batch as `batch.items()` has it, or a result as its `onResult` gets it. */
export interface PricedItem {
  /** Kind of the request. */
  readonly kind: "image" | "video" | "chat";
  /** Model of the request. */
  readonly model: string;
  /** State of the request; absent from a result. */
  readonly state?: "waiting" | "running" | "done" | "failed" | "unknown";
  /** Its result, once there is one. */
  readonly result?: Result;
  /** Error of a failed or unknown request. */
  readonly error?: Error;
}

/** A result. Batches keep it without `raw`. */
type Result = WithoutRaw<ChatTurn | ImageResult | VideoTask>;
type WithoutRaw<T> = T extends unknown ? Omit<T, "raw"> : never;

/** A message of a chat store. */
export interface PricedMessage {
  /** Author of the message. Only a response costs something. */
  readonly role: "system" | "user" | "assistant";
  /** Model that answered. */
  readonly model?: string;
  /** Tokens of the response, once they are known. */
  readonly usage?: ChatUsage;
  /** End of the response; absent while it is in flight. */
  readonly outcome?: string;
  /** Error of a response that did not end well. */
  readonly error?: Error;
}

/** A message of `store.getThread()`, with the id of the message before it. */
export interface MessageNode {
  /** Id of the message before it; undefined for a first message. */
  readonly parentId: string | undefined;
  /** The message. */
  readonly message: PricedMessage;
}

/** A thing that has a cost, or several of them. */
export type Priced =
  | PricedMessage
  | MessageNode
  | Result
  | RequestedResult
  | PricedItem
  | ClientEvent
  | Cost
  | Iterable<Priced>;

/**
 * Counts the cost of something that a client made, or of several things. What is not known is in `missing`, and never
 * counts as free.
 *
 * - a message of a thread, or a list of them: `messages` for those that are shown, `store.getThread()` for all that were
 *   paid
 * - a {@link ChatTurn}, an {@link ImageResult}, a {@link VideoTask}. `{ request, result }` is needed for a video whose
 *   length the gateway does not report
 * - requests of a batch, `batch.items()`. What nobody knows the end of is in `missing`
 * - events of `onEvent`: the sum of a day. Only `end` events cost something
 * - other costs: `costOf([a, b], prices)` adds them without an error
 *
 * @throws {TypeError} for a table that {@link definePrices} refuses, for anything else, and for a cost in another currency
 * @example
 * ```ts
 * const prices = definePrices({ currency: "EUR", models: { "delta-5.3": { input: 0.5, output: 2 } } });
 * const turn = await completeChat(client, { model: "delta-5.3", messages: [{ role: "user", content: "Hi" }] });
 * const { amount, missing } = costOf(turn, prices);
 * show(missing.length === 0 ? `${amount} EUR` : `${amount} EUR and more`);
 * ```
 */
export function costOf(thing: Priced, prices: Prices): Cost {
  const tally = createTally(rateTableOf(prices));
  count(thing, tally, undefined);
  return tally.cost();
}

/**
 * Counts the cost of an answer by its `usage` alone, which is what a server sees of it.
 *
 * @param request the request as it was sent, with its `model`
 */
export function costOfUsage(request: Thing, usage: unknown, prices: Prices): Cost {
  const tally = createTally(rateTableOf(prices));
  const { model, size } = request as { readonly model?: string; readonly size?: string };
  const counts = isRecord(usage) ? usage : {};
  // all images of a request have one size
  const sizes = counts["generated_images"] === undefined ? undefined : [size];
  tally.add(model, (rates) =>
    counts["prompt_tokens"] === undefined ? imageCost(rates, usage, sizes) : chatCost(rates, usage),
  );
  return tally.cost();
}

/** A thing by the fields that tell its kind. */
type Thing = Readonly<Record<string, unknown>>;

function count(thing: unknown, tally: Tally, request: Thing | undefined): void {
  if (isList(thing)) for (const one of thing) count(one, tally, request);
  else if (!isRecord(thing))
    throw new TypeError("costOf: give a message, a result, a task, an event, or a list of them");
  else if ("amount" in thing) tally.addCost(thing as unknown as Cost);
  else if ("request" in thing) count(thing["result"], tally, thing["request"] as Thing);
  else if ("type" in thing) countEvent(thing as unknown as ClientEvent, tally);
  else if ("kind" in thing) countItem(thing as unknown as PricedItem, tally);
  else if ("role" in thing) countMessage(thing as unknown as PricedMessage, tally);
  else if ("parentId" in thing) count(thing["message"], tally, request);
  else if ("timing" in thing) countTurn(thing as unknown as ChatTurn, tally);
  else if ("rawStatus" in thing) countVideo(thing as unknown as VideoTask, tally, request);
  else if ("images" in thing) countImages(thing as unknown as ImageResult, tally, request);
  else throw new TypeError(`costOf: knows no cost of { ${Object.keys(thing).join(", ")} }`);
}

function isList(thing: unknown): thing is Iterable<unknown> {
  return typeof thing === "object" && thing !== null && Symbol.iterator in thing;
}

function countMessage({ role, model, usage, outcome, error }: PricedMessage, tally: Tally): void {
  if (role !== "assistant" || (!usage && isFree(error))) return;
  if (!usage && outcome === undefined) tally.miss("not-ended", model);
  else tally.add(model, (rates) => chatCost(rates, usage));
}

/** True for the error of a request that the gateway did not take. */
function isFree(error: unknown): boolean {
  const { outcome } = (error ?? {}) as { readonly outcome?: unknown };
  return outcome === "refused" || outcome === "not-sent";
}

function countItem({ model, state, result, error }: PricedItem, tally: Tally): void {
  if (result) count(result, tally, undefined);
  else if (state === "running") tally.miss("not-ended", model);
  else if (state !== "waiting" && !isFree(error)) tally.miss("no-usage", model);
}

function countTurn({ model, usage }: ChatTurn, tally: Tally): void {
  tally.add(model, (rates) => chatCost(rates, usage));
}

function countImages({ model, usage, images }: ImageResult, tally: Tally, request: Thing | undefined): void {
  const made = images.filter(({ error }) => !error);
  const asked = request?.["size"] as string | undefined;
  tally.add(model, (rates) =>
    imageCost(
      rates,
      usage,
      made.map(({ size = asked }) => size),
    ),
  );
}

function countVideo(task: VideoTask, tally: Tally, request: Thing | undefined): void {
  const model = task.model ?? (request?.["model"] as string | undefined);
  if (task.state !== "succeeded") return tally.miss("not-ended", model);
  const unknown = { seconds: undefined, resolution: undefined, hasAudio: undefined, inputSeconds: undefined };
  const asked = request ? requestedFacts(request) : { ...unknown, tokens: undefined };
  tally.add(model, (rates) => videoCost(rates, { ...asked, ...known(reportedFacts(task.raw)) }));
}

/** Counters of the cost of a call that has ended, by the kind of the call. Files cost nothing. */
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
  const { kind, model, usage, outcome, path } = event;
  const cost = ofCalls[kind];
  // a query has no model, and costs nothing; a create of epsilon has none either
  if (!cost || (model === undefined && !/2video$/.test(path))) return;
  if (!usage && (outcome === "refused" || outcome === "not-sent")) return;
  if (!usage && FAILED.includes(outcome)) tally.miss("no-usage", model);
  else tally.add(model, (rates) => cost(rates, usage));
}

/** Outcomes of calls that may be billed without an answer. */
const FAILED: readonly string[] = ["unknown", "stopped", "truncated", "error"];
