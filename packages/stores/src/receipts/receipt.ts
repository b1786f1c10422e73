import { type ClientEvent, isGatewayError, type Outcome } from "@sluice/core";

/** One step of a call. */
export type CallEvent = Extract<ClientEvent, { readonly type: "request" | "response" | "end" }>;
type EndEvent = Extract<ClientEvent, { readonly type: "end" }>;

/** The record of one request that may cost money. Plain JSON without prompts, results or API keys. */
export interface Receipt {
  /** Id of the call, as in the client's events. Unique. */
  readonly callId: string;
  /** Purpose of the call. */
  readonly kind: EndEvent["kind"];
  /** Path of the request, `/v1/…`. */
  readonly path: string;
  /** Model of the request. */
  readonly model?: string | undefined;
  /** Model that the response names. */
  readonly responseModel?: string | undefined;
  /** Settings of the request, such as its `size` or `duration`. */
  readonly settings?: EndEvent["settings"];
  /** Time of the first attempt; Unix milliseconds. */
  readonly startedAt: number;
  /** Time of the end; Unix milliseconds. Absent while the request is in flight, and after a crash. */
  readonly endedAt?: number | undefined;
  /** Number of attempts so far. */
  readonly attempts: number;
  /** HTTP statuses of the attempts that had a response. */
  readonly statuses: readonly number[];
  /** The request id of the gateway or the proxy for the last response. */
  readonly requestId?: string | undefined;
  /** The gateway's id of a chat response, or of a video task. */
  readonly responseId?: string | undefined;
  /** The `idempotency-key`, the same for all attempts. */
  readonly idempotencyKey?: string | undefined;
  /** The `id` of the chat. */
  readonly chatId?: string | undefined;
  /** Id of the message in its chat. */
  readonly messageId?: string | undefined;
  /** Outcome of the request; `pending` while it is in flight, and after a crash. */
  readonly outcome: Outcome | "pending";
  /**
   * Billing of the request.
   *
   * - `none`: the gateway never received it
   * - `refused`: the gateway rejected it, and billed nothing
   * - `maybe`: it is in flight, or its response was lost, cut or stopped. Check your account
   * - `yes`: the response came
   */
  readonly billing: "none" | "refused" | "maybe" | "yes";
  /** Counts of the response; absent if the gateway did not report them. */
  readonly usage?: EndEvent["usage"];
  /** Error of a failed request. */
  readonly error?: { readonly name: string; readonly message: string } | undefined;
}

/** Returns true for an event that changes a receipt. */
export function isCallEvent(event: ClientEvent): event is CallEvent {
  return event.type === "request" || event.type === "response" || event.type === "end";
}

/** Creates the receipt of a call before its first attempt. */
export function createReceipt(
  { callId, kind, path, model, settings, chatId, messageId }: CallEvent,
  startedAt: number,
): Receipt {
  const call = { callId, kind, path, model, settings, chatId, messageId };
  return { ...call, startedAt, attempts: 0, statuses: [], outcome: "pending", billing: "none" };
}

/** Adds one step of a call to its receipt. */
export function addStep(receipt: Receipt, step: CallEvent, now: number): Receipt {
  if (step.type === "request") {
    const { attempt, idempotencyKey } = step;
    return { ...receipt, attempts: attempt, idempotencyKey, billing: "maybe" };
  }
  if (step.type === "response") {
    const { status, requestId } = step;
    return { ...receipt, statuses: [...receipt.statuses, status], requestId };
  }
  const { outcome, responseId, responseModel, usage, error } = step;
  return {
    ...receipt,
    endedAt: now,
    outcome,
    responseId,
    responseModel,
    usage,
    billing: findBilling(receipt, error),
    error: error === undefined ? undefined : describe(error),
  };
}

function findBilling({ attempts }: Receipt, error: unknown): Receipt["billing"] {
  if (attempts === 0) return "none";
  if (error === undefined) return "yes";
  if (!isGatewayError(error) || error.billing !== "none") return "maybe";
  return error.name === "APIError" ? "refused" : "none";
}

function describe(error: unknown): Receipt["error"] {
  return error instanceof Error
    ? { name: error.name, message: error.message }
    : { name: "Error", message: String(error) };
}
