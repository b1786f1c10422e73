import type { ChatResult, ChatUsage, ClientEvent, ImageResult, VideoTask } from "@sluice/core";
import { isCreatePath, isRecord } from "@sluice/core/extend";
import { pricePieces } from "./money.js";
import { type Prices, type Rates, readRateTable } from "./prices.js";
import { type Cost, type CostOrReason, createTally, type Tally } from "./tally.js";
import { calculateChatCost, calculateImageCost } from "./usage-cost.js";
import {
  calculateVideoCost,
  omitUndefined,
  readCount,
  readReportedMetadata,
  readRequestMetadata,
} from "./video-cost.js";

/** A result with its request, which has data that the gateway does not report. */
interface RequestedResult {
  /** The request as it was sent, with its `model`. */
  readonly request: object;
  /** Its result. */
  readonly result: Result;
}

/** A request and the `usage` of its response, as a server knows them. */
interface RequestedUsage {
  /** The request as it was sent, with its `model`. */
  readonly request: object;
  /** The `usage` of the response. */
  readonly usage: unknown;
}

/** A request of a batch: an item of `batch.getItems()`, or the argument of `onResult`. */
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

/** A result. Batches store it without `raw`. */
type Result = WithoutRaw<ChatResult | ImageResult | VideoTask>;
type WithoutRaw<T> = T extends unknown ? Omit<T, "raw"> : never;

/** A message of a chat store. */
interface PricedMessage {
  /** Author of the message. Only assistant messages cost money. */
  readonly role: "system" | "user" | "assistant";
  /** Model of the response. */
  readonly model?: string;
  /** Tokens of the response, once they are known. */
  readonly usage?: ChatUsage;
  /** End of the response; absent while it is in flight. */
  readonly outcome?: string;
  /** Error of a failed response. */
  readonly error?: Error;
}

/** A message of `store.getThread()`. */
interface PricedNode {
  /** Id of the message before it; undefined for a first message. */
  readonly parentId: string | undefined;
  /** The message. */
  readonly message: PricedMessage;
}

/** A receipt of `listReceipts`. */
interface PricedReceipt extends Omit<EndedCall, "error"> {
  /** Number of attempts. */
  readonly attempts: number;
  /** Whether the request is billed. */
  readonly billing: "none" | "refused" | "maybe" | "yes";
}

/** The end of a call: an event of `onEvent`, or a receipt. */
interface EndedCall {
  /** Purpose of the call. */
  readonly kind: string;
  /** Path of the request. */
  readonly path: string;
  /** Model of the request. */
  readonly model?: string | undefined;
  /** Settings of the request. */
  readonly settings?: object | undefined;
  /** Counts of the response. */
  readonly usage?: object | undefined;
}

/** One or more values with a cost: see {@link calculateCost}. */
export type Priced =
  | PricedMessage
  | PricedNode
  | Result
  | RequestedResult
  | RequestedUsage
  | PricedItem
  | ClientEvent
  | PricedReceipt
  | Cost
  | Iterable<Priced>;

/**
 * Calculates the cost of one or more values. Lists unknown costs in `missing`: they never count as free.
 *
 * - messages of a chat: `messages` for the shown messages, `store.getThread()` for all paid messages
 * - a {@link ChatResult}, an {@link ImageResult}, a {@link VideoTask}. Give `{ request, result }` for a video whose
 *   length the gateway does not report
 * - `{ request, usage }`, for a server that only knows the usage
 * - requests of a batch, `batch.getItems()`. An unconfirmed request is in `missing`
 * - events of `onEvent`. Only `end` events have a cost
 * - receipts of `listReceipts`. A receipt without usage that may be billed is in `missing`
 * - other costs: `calculateCost([a, b], prices)` adds them exactly
 *
 * @throws {TypeError} for an invalid table (see {@link definePrices}), an unsupported value, or a cost in another
 *   currency
 * @example
 * ```ts
 * const prices = definePrices({ currency: "EUR", models: { "delta-5.3": { input: 0.5, output: 2 } } });
 * const turn = await completeChat(client, { model: "delta-5.3", messages: [{ role: "user", content: "Hi" }] });
 * const { amount, missing } = calculateCost(turn, prices);
 * show(missing.length === 0 ? `${amount} EUR` : `${amount} EUR and more`);
 * ```
 */
export function calculateCost(value: Priced, prices: Prices): Cost {
  const tally = createTally(readRateTable(prices));
  addValue(value, tally, undefined);
  return tally.cost();
}

type Fields = Readonly<Record<string, unknown>>;

function addValue(value: unknown, tally: Tally, request: Fields | undefined): void {
  if (isList(value)) for (const item of value) addValue(item, tally, request);
  else if (!isRecord(value))
    throw new TypeError("calculateCost: give a message, a result, a task, an event, or a list of them");
  else if ("amount" in value) tally.addCost(value as unknown as Cost);
  else if ("request" in value && "usage" in value)
    addUsage(value["usage"], tally, value["request"] as Fields);
  else if ("request" in value) addValue(value["result"], tally, value["request"] as Fields);
  else if ("billing" in value && "attempts" in value) addReceipt(value as unknown as PricedReceipt, tally);
  else if ("type" in value) addEvent(value as unknown as ClientEvent, tally);
  else if ("kind" in value) addItem(value as unknown as PricedItem, tally);
  else if ("role" in value) addMessage(value as unknown as PricedMessage, tally);
  else if ("parentId" in value) addValue(value["message"], tally, request);
  else if ("timing" in value) addChatResult(value as unknown as ChatResult, tally);
  else if ("rawStatus" in value) addVideo(value as unknown as VideoTask, tally, request);
  else if ("images" in value) addImages(value as unknown as ImageResult, tally, request);
  else throw new TypeError(`calculateCost: knows no cost of { ${Object.keys(value).join(", ")} }`);
}

function addUsage(usage: unknown, tally: Tally, request: Fields): void {
  const isChat = isRecord(usage) && usage["prompt_tokens"] !== undefined;
  tally.add(request["model"] as string | undefined, (rates) =>
    isChat ? calculateChatCost(rates, usage) : calculateCountedImages(rates, usage, request),
  );
}

/** Calculates the cost of images from their number. All images of a request have one size. */
function calculateCountedImages(rates: Rates, usage: unknown, request: object | undefined): CostOrReason {
  const imageCount = isRecord(usage) ? readCount(usage["generated_images"]) : undefined;
  const { size } = { ...request } as { readonly size?: unknown };
  const commonSize = typeof size === "string" ? size : undefined;
  return calculateImageCost(rates, usage, imageCount === undefined ? undefined : [commonSize]);
}

function isList(value: unknown): value is Iterable<unknown> {
  return typeof value === "object" && value !== null && Symbol.iterator in value;
}

function addMessage({ role, model, usage, outcome, error }: PricedMessage, tally: Tally): void {
  if (role !== "assistant" || (!usage && isFree(error))) return;
  if (!usage && outcome === undefined) tally.addMissing("not-ended", model);
  else tally.add(model, (rates) => calculateChatCost(rates, usage));
}

/** Returns true for the error of a request that was not billed. */
function isFree(error: unknown): boolean {
  return (error as { readonly billing?: unknown } | undefined)?.billing === "none";
}

function addItem({ model, state, result, error }: PricedItem, tally: Tally): void {
  if (result) addValue(result, tally, undefined);
  else if (state === "running") tally.addMissing("not-ended", model);
  else if (state !== "waiting" && !isFree(error)) tally.addMissing("no-usage", model);
}

function addChatResult({ model, usage }: ChatResult, tally: Tally): void {
  tally.add(model, (rates) => calculateChatCost(rates, usage));
}

function addImages({ model, usage, images }: ImageResult, tally: Tally, request: Fields | undefined): void {
  const made = images.filter(({ error }) => !error);
  const requested = request?.["size"] as string | undefined;
  tally.add(model, (rates) =>
    calculateImageCost(
      rates,
      usage,
      made.map(({ size = requested }) => size),
    ),
  );
}

function addVideo(task: VideoTask, tally: Tally, request: Fields | undefined): void {
  const model = task.model ?? (request?.["model"] as string | undefined);
  if (task.state !== "succeeded") return tally.addMissing("not-ended", model);
  const unknown = { seconds: undefined, resolution: undefined, hasAudio: undefined, inputSeconds: undefined };
  const requested = request ? readRequestMetadata(request) : { ...unknown, tokens: undefined };
  tally.add(model, (rates) =>
    calculateVideoCost(rates, { ...requested, ...omitUndefined(readReportedMetadata(task.raw)) }),
  );
}

/** Calculates the cost of an ended call, by its kind. Files cost nothing. */
const callCosts: { readonly [Kind in string]?: (rates: Rates, call: EndedCall) => CostOrReason } = {
  chat: (rates, { usage }) => calculateChatCost(rates, usage),
  image: (rates, { usage, settings }) => calculateCountedImages(rates, usage, settings),
  video: calculateVideoCallCost,
  asset: (rates) => (typeof rates.asset === "bigint" ? pricePieces(rates.asset, 1) : "no-price"),
  epsilon: () => "no-usage",
};

/** Calculates the cost of a video from its request, because events omit the length of the video and its references. */
function calculateVideoCallCost(rates: Rates, { model, settings }: EndedCall): CostOrReason {
  const requested = readRequestMetadata({ model, ...settings });
  return calculateVideoCost(rates, { ...requested, inputSeconds: undefined });
}

function addEvent(event: ClientEvent, tally: Tally): void {
  if (event.type !== "end") return;
  const { usage, outcome, error } = event;
  if (!usage && (outcome === "not-sent" || isFree(error))) return;
  addCall(event, !usage && UNCERTAIN_OUTCOMES.includes(outcome), tally);
}

function addReceipt(receipt: PricedReceipt, tally: Tally): void {
  const { usage, billing } = receipt;
  if (!usage && (billing === "none" || billing === "refused")) return;
  addCall(receipt, !usage && billing === "maybe", tally);
}

function addCall(call: EndedCall, isUncertain: boolean, tally: Tally): void {
  const { kind, path, model } = call;
  const cost = callCosts[kind];
  if (!cost || !isCreatePath(path)) return;
  if (isUncertain) tally.addMissing("no-usage", model);
  else tally.add(model, (rates) => cost(rates, call));
}

/** Outcomes of calls that may be billed without a response. */
const UNCERTAIN_OUTCOMES: readonly string[] = ["stopped", "truncated", "error"];
