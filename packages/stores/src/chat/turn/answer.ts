import { type ChatRequest, type Client, isGatewayError } from "@sluice/core";
import { type CallIdentity, randomId, within } from "@sluice/core/internal";
import { createAnswer } from "../draft.js";
import type { Place } from "../insertion-point.js";
import { asDraft, isLost, type ThreadMessage } from "../message.js";
import type { ChatStoreOptions } from "../options.js";
import { requestOf } from "../prompt.js";
import { refresh } from "../shown.js";
import { hasEnded, REQUESTING, type Run } from "./state.js";
import { loadCalls } from "./tools.js";

/** Longest time that a request waits until its draft is written, in milliseconds. */
const WRITE_MS = 500;

/** Gets the first answer of a turn: reads one that the proxy may still keep, or requests one. Resolves to its id. */
export function firstAnswer(turn: Run, place: Place): Promise<string | undefined> {
  if (turn.left) return readAnswer(turn, asDraft(turn.left), turn.options());
  return place.kept ? readOrRequest(turn, place.kept, place) : requestAnswer(turn, place.below, place);
}

/** Reads an answer that the proxy keeps; requests another one where the proxy has lost it. */
async function readOrRequest(turn: Run, kept: ThreadMessage, place: Place): Promise<string | undefined> {
  turn.added.push(kept.id);
  await readAnswer(turn, asDraft(kept), turn.options());
  if (hasEnded(turn) || !isLost(turn.thread.node(kept.id)?.message)) return kept.id;
  turn.added.pop();
  return requestAnswer(turn, place.below, place);
}

/** Requests an answer below a message. Resolves to its id; to undefined if the turn ended before it was sent. */
export async function requestAnswer(
  turn: Run,
  below: string | undefined,
  { idempotencyKey }: Partial<Place> = {},
): Promise<string | undefined> {
  const { client, thread } = turn;
  const options = turn.options();
  const made = requestOf(client, options, thread.pathTo(below));
  const whole = made instanceof Promise ? await made : made;
  const request = options.prepareMessages
    ? await (await import("../prepare.js")).prepared(client, whole, options, turn.owner.signal)
    : whole;
  if (hasEnded(turn)) return undefined;
  const { keeper } = turn.storage;
  const newKey = () => keeper?.keyBelow(below, request) ?? randomId();
  const draft: ThreadMessage = {
    id: randomId(),
    role: "assistant",
    content: "",
    model: request.model,
    createdAt: Date.now(),
    ...(client.idempotencyKeys && { idempotencyKey: idempotencyKey ?? newKey() }),
  };
  turn.workedOn = draft.id;
  keeper?.hold(draft.id, turn.turn);
  thread.add(draft, below, draft.idempotencyKey);
  turn.added.push(draft.id);
  return readAnswer(turn, draft, options, request);
}

/** Reads an answer to its end. Without a request it is one that the proxy keeps. */
async function readAnswer(
  turn: Run,
  draft: ThreadMessage,
  { schema, request: options = {}, tools = [] }: ChatStoreOptions,
  request?: ChatRequest,
): Promise<string> {
  if (tools.length > 0) void loadCalls(turn);
  const client = request ? afterWriting(turn) : turn.client;
  const place = { chatId: turn.chatId, messageId: draft.id };
  const answer = createAnswer(naming(client, place), draft, request, { ...options, schema });
  turn.phase = { name: "answering", answer };
  refresh(turn);
  const message = await answer.read(turn.store.changed);
  if (hasEnded(turn)) return draft.id;
  const { error } = message;
  if (request && isGatewayError(error) && error.outcome === "not-sent") {
    turn.storage.keeper?.forgetKey(draft.idempotencyKey);
    throw error;
  }
  let admitted = message;
  try {
    if (message.outcome === "tool-calls" && message.toolCalls)
      admitted = await (await loadCalls(turn)).admit(message);
  } finally {
    // also where the code for calls could not be loaded: the answer stays
    if (!hasEnded(turn)) {
      turn.thread.put(admitted);
      // in the same tick: in the phase `answering` a snapshot shows the message as it streamed
      turn.phase = REQUESTING;
    }
  }
  return draft.id;
}

/**
 * Makes a client that sends when the draft is written, with its key: a page that is killed right after leaves the key
 * behind. A slow storage delays an answer by {@link WRITE_MS} at most.
 */
function afterWriting({ client, storage }: Run): Client {
  const writing = client.idempotencyKeys ? storage.keeper?.written() : undefined;
  if (!writing) return client;
  const written = within(client.clock, WRITE_MS, writing, "the storage").catch(() => {});
  return { ...client, headers: (request) => written.then(() => client.headers(request)) };
}

/** Makes a client whose calls name a chat and a message, in their events and for `headers`. */
function naming(client: Client, place: Pick<CallIdentity, "chatId" | "messageId">): Client {
  return {
    ...client,
    headers: (request) => client.headers({ ...request, ...place }),
    emit: (event) => client.emit("kind" in event ? { ...event, ...place } : event),
  };
}
