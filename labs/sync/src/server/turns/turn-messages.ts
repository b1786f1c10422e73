/** Fields of a stored message that the server reads. A chat of `@sluice/stores` writes them. */
export interface StoredMessage {
  readonly role?: unknown;
  readonly outcome?: unknown;
  readonly toolCalls?: readonly StoredCall[];
}

/** The JSON of a tool call. */
export interface StoredCall {
  readonly id: string;
  readonly name: string;
  readonly state: string;
}

/** The value of a record with a message. */
export interface MessageValue {
  readonly message: StoredMessage;
  readonly parent?: unknown;
  readonly revision?: unknown;
}

const ENDED = ["done", "failed", "denied", "cancelled"];

/** Parses the value of a record; undefined without a message. */
export function parseMessage(text: string | null): MessageValue | undefined {
  const value = (text === null ? null : JSON.parse(text)) as Partial<MessageValue> | null;
  const { message } = value ?? {};
  return typeof message === "object" && message !== null ? (value as MessageValue) : undefined;
}

/** Lists the tool calls of a message. Devices may have written anything. */
export function listCalls({ message }: MessageValue): readonly StoredCall[] {
  return Array.isArray(message.toolCalls)
    ? message.toolCalls.filter((call) => typeof call === "object" && call !== null)
    : [];
}

/** The end of an interrupted response. */
export interface ResponseEnd {
  readonly outcome: "stopped" | "truncated";
  /** The error of a response in flight. */
  readonly error?: { readonly code: string; readonly message: string };
  /** The error of calls without a result. */
  readonly callError: string;
}

/** Ends a response in flight, and its open calls. Returns the same object if nothing is open. */
export function closeMessage(value: MessageValue, { outcome, error, callError }: ResponseEnd): MessageValue {
  const { message } = value;
  const calls = listCalls(value);
  const isInFlight = message.role === "assistant" && message.outcome === undefined;
  if (!isInFlight && calls.every(({ state }) => ENDED.includes(state))) return value;
  const { streamId: _, idempotencyKey: _key, ...rest } = message as Record<string, unknown>;
  const closed = {
    ...rest,
    ...(isInFlight && {
      outcome,
      ...(error && { error: { name: "StreamError", billing: "maybe", ...error } }),
    }),
    ...(calls.length > 0 && { toolCalls: calls.map((call) => closeCall(call, callError)) }),
  };
  return { ...value, message: closed, revision: (Number(value.revision) || 0) + 1 };
}

function closeCall(call: StoredCall, error: string): StoredCall {
  if (ENDED.includes(call.state)) return call;
  const { savedState: _, ...rest } = call as StoredCall & { readonly savedState?: unknown };
  return { ...rest, state: "cancelled", error } as StoredCall;
}
