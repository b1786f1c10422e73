import type { Admitted } from "../admitted.js";
import { Refusal } from "../refusal.js";
import type { Settings, Setup } from "../settings.js";
import { checkedType, passedHeadersOf } from "./answer.js";
import type { Call } from "./call.js";
import { JSON_CHARACTERS, readText, refusalOf } from "./read-answer.js";
import type { Outgoing } from "./request.js";

/** An answer as text. Nothing in it belongs to the request that fetched it: workerd forbids to share that. */
interface Finished {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

interface Poll {
  /** Absent while a request for it is in flight. */
  result?: Finished | Refusal;
  /** End of the time in which the result is reused, or in which the others wait for the request in flight. */
  until: number;
  /** Resolves when there is a result, or when the request in flight came to nothing. */
  changed: Promise<void>;
  notify: () => void;
  /** Characters that it counts for. */
  size: number;
}

/** Time for which requests wait for the one in flight before the next of them asks the gateway too, in milliseconds. */
const WAIT_MS = 1000;
/** Bounds of the memory: entries, and characters of their texts. */
const MOST_POLLS = 1000;
const MOST_CHARACTERS = 4_000_000;

/** Answers to polls, in this isolate. */
interface PollMemo {
  readonly polls: Map<string, Poll>;
  /** Characters of all answers. */
  characters: number;
}

/** The memory of each proxy, by its settings. */
const memos = new WeakMap<object, PollMemo>();

/**
 * Asks about a task or an asset, or takes the answer that the same user had a moment ago.
 *
 * @throws {Refusal} the gateway's refusal, which is shared like an answer
 */
export async function poll<Env>(
  settings: Settings<Env>,
  setup: Setup,
  { path, body }: Outgoing,
  { user }: Admitted<Env>,
  call: Call,
  ask: () => Promise<Response>,
): Promise<Response> {
  const { limits } = settings;
  const memo = memos.get(settings) ?? { polls: new Map(), characters: 0 };
  memos.set(settings, memo);
  const key = JSON.stringify([user.id, setup.baseURL, path, body]);
  const read = async () => {
    const response = await ask();
    if (!response.ok) throw await refusalOf({ response, call }, setup.guarded, limits);
    const { type } = checkedType(response, false);
    const text = await readText({ response, call }, JSON_CHARACTERS, limits.stallMs);
    const headers = { ...passedHeadersOf(response, setup.guarded), "content-type": type };
    return { status: response.status, headers, text };
  };
  const shared = () => (limits.pollMemoMs === 0 ? read() : share(memo, limits.pollMemoMs, key, read));
  const { status, headers, text } = await call.wait(shared, "upstream_cut");
  // a 204 has no body, not even an empty one
  return new Response(text || null, { status, headers });
}

/**
 * Asks, or returns the answer that another request with the same key has just had. An answer, or the gateway's refusal,
 * is reused for `freshMs`; requests that come while one is in flight wait for its answer. If that request fails because
 * its client left, the next one asks. The key has to name the user.
 */
async function share(
  memo: PollMemo,
  freshMs: number,
  key: string,
  ask: () => Promise<Finished>,
): Promise<Finished> {
  const { polls } = memo;
  for (;;) {
    const poll = polls.get(key);
    if (!poll || Date.now() >= poll.until) return unwrapped(await lead());
    // its own timer: the request in flight may have died with its client, without a word
    if (!poll.result) await settled(poll.changed, poll.until - Date.now());
    if (poll.result) return unwrapped(poll.result);
  }

  async function lead(): Promise<Finished | Refusal> {
    const last = polls.get(key);
    const poll: Poll = last && !last.result ? last : { until: 0, size: 0, ...signal() };
    poll.until = Date.now() + WAIT_MS;
    put(memo, key, poll);
    try {
      const result = await ask().catch(refusalIn);
      poll.result = result;
      poll.until = Date.now() + freshMs;
      if (polls.get(key) === poll) put(memo, key, poll);
      return result;
    } catch (error) {
      if (!poll.result) poll.until = 0;
      throw error;
    } finally {
      poll.notify();
      Object.assign(poll, signal());
    }
  }
}

/** Puts an entry behind all others, and drops from the front what is over or too much. */
function put(memo: PollMemo, key: string, poll: Poll): void {
  const { polls } = memo;
  drop(memo, key);
  polls.set(key, poll);
  poll.size = poll.result instanceof Refusal ? 0 : (poll.result?.text.length ?? 0);
  memo.characters += poll.size;
  for (const [oldest, { until }] of polls) {
    const isFull = polls.size > MOST_POLLS || memo.characters > MOST_CHARACTERS;
    if (!isFull && until > Date.now()) return;
    drop(memo, oldest);
  }
}

function drop(memo: PollMemo, key: string): void {
  memo.characters -= memo.polls.get(key)?.size ?? 0;
  memo.polls.delete(key);
}

function signal(): Pick<Poll, "changed" | "notify"> {
  let notify = () => {};
  const changed = new Promise<void>((resolve) => {
    notify = resolve;
  });
  return { changed, notify };
}

/** A refusal is an answer too, but for the one of a client that left. */
function refusalIn(error: unknown): Refusal {
  if (error instanceof Refusal && !error.reason.startsWith("client_")) return error;
  throw error;
}

function unwrapped(result: Finished | Refusal): Finished {
  if (result instanceof Refusal) throw result;
  return result;
}

/** Returns the value of a promise of another request, or undefined where it takes longer than that. */
export async function settled<T>(promise: Promise<T>, ms: number): Promise<T | undefined> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
