import "./loaded.js";
import { type Client, type ClientOptions, type Clock, createClient, type Store } from "@sluice/core";
import { runLoop, trackLoops } from "./loops.js";
import { isWorkerd } from "./runtime.js";

const encoder = new TextEncoder();

/** Splits a text or bytes into pieces of `size` bytes. */
export function splitBytes(content: string | Uint8Array, size: number): Uint8Array[] {
  const bytes = typeof content === "string" ? encoder.encode(content) : content;
  const pieces: Uint8Array[] = [];
  for (let start = 0; start < bytes.length; start += size) pieces.push(bytes.slice(start, start + size));
  return pieces;
}

/** Creates a body that returns one piece for each read. */
function pullBody(pieces: readonly Uint8Array[]): ReadableStream<Uint8Array> {
  let next = 0;
  return new ReadableStream(
    {
      pull(controller) {
        const piece = pieces[next++];
        if (piece) controller.enqueue(piece);
        else controller.close();
      },
    },
    { highWaterMark: 0 },
  );
}

/**
 * Creates a body that the test writes, as a gateway writes a connection. `wanted()` resolves as soon as the client has
 * read all bytes and waits for more.
 */
export function openBody() {
  let controller!: ReadableStreamDefaultController<Uint8Array>;
  let cancelled = false;
  let isWanted = false;
  let resolveWanted: () => void = () => {};
  const body = new ReadableStream<Uint8Array>(
    {
      start(given) {
        controller = given;
      },
      pull() {
        isWanted = true;
        resolveWanted();
      },
      cancel() {
        cancelled = true;
      },
    },
    { highWaterMark: 0 },
  );
  return {
    body,
    wanted: () =>
      new Promise<void>((resolve) => {
        resolveWanted = resolve;
        if (isWanted) resolve();
      }),
    send(text: string) {
      isWanted = false;
      controller.enqueue(encoder.encode(text));
    },
    end: () => controller.close(),
    drop: () => controller.error(new TypeError("terminated")),
    get cancelled() {
      return cancelled;
    },
  };
}

/** Writes a frame of a chat stream: `frame({ content: "Hi" })`. */
export function frame(delta: object, finish_reason: string | null = null, rest: object = {}): string {
  return event({
    id: "chat-1",
    object: "chat.completion.chunk",
    created: 1_755_000_000,
    model: "delta-5.3",
    choices: [{ index: 0, delta, finish_reason }],
    ...rest,
  });
}

/** Writes a server-sent event with any JSON. */
export function event(json: unknown): string {
  return `data: ${JSON.stringify(json)}\n\n`;
}

export const DONE = "data: [DONE]\n\n";

/** Creates a response of the gateway: an event stream in the given pieces. */
export function streamResponse(
  content: string | readonly Uint8Array[] | ReadableStream<Uint8Array>,
): Response {
  const body =
    content instanceof ReadableStream
      ? content
      : pullBody(typeof content === "string" ? [encoder.encode(content)] : content);
  return new Response(body, { headers: { "content-type": "text/event-stream; charset=utf-8" } });
}

/** Creates a client whose gateway is `respond`. `requests` lists the requests that it sent. */
export function createTestClient(
  respond: (request: Request, nth: number) => Response | Promise<Response>,
  options: Partial<ClientOptions> = {},
): { client: Client; requests: Request[] } {
  const requests: Request[] = [];
  const client = createClient({
    baseURL: "https://gateway.test",
    // a client whose events are read prints no warnings
    onEvent: () => {},
    fetch: async (request) => {
      requests.push(request.clone());
      return respond(request, requests.length);
    },
    ...options,
  });
  return { client, requests };
}

/** A request that every rule of its model accepts. */
export const question = {
  model: "delta-5.3",
  messages: [{ role: "user", content: "Why is the sky blue?" }],
} as const;

/** Creates a clock that only a test advances. A test must not end while a call advances its clock. */
export function stoppedClock(): Clock & {
  /** Advances the time by `ms`, and ends each sleep at its time, in order. */
  advance(ms: number): Promise<void>;
  /** Advances the time to the end of the next sleep, but not beyond `until`. */
  advanceToNext(until: number): Promise<void>;
  /** Advances the time in steps of `ms` until `promise` has settled, and returns its result. Fails after 1,000 steps. */
  advanceUntil<T>(promise: Promise<T>, ms: number): Promise<T>;
  /** Number of sleeps that are not over. */
  sleeping(): number;
} {
  let now = 0;
  const sleepers = new Set<{ until: number; wake: () => void }>();
  const loops = trackLoops();
  return { now: () => now, sleep, advance, advanceToNext, advanceUntil, sleeping: () => sleepers.size };

  function sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const sleeper = { until: now + ms, wake: resolve };
      sleepers.add(sleeper);
      signal?.addEventListener("abort", () => {
        sleepers.delete(sleeper);
        reject(signal.reason);
      });
    });
  }

  function advance(ms: number): Promise<void> {
    return runLoop("clock.advance()", (check) => move(ms, check), loops);
  }

  async function move(ms: number, check: () => void): Promise<void> {
    const target = now + ms;
    do {
      await settled();
      check();
      await advanceToNext(target);
    } while (now < target || hasDue(target));
  }

  async function advanceToNext(until: number): Promise<void> {
    let due: { until: number; wake: () => void } | undefined;
    for (const sleeper of sleepers) {
      if (sleeper.until <= until && (!due || sleeper.until < due.until)) due = sleeper;
    }
    now = Math.max(now, due ? due.until : until);
    if (due) {
      sleepers.delete(due);
      due.wake();
    }
    await settled();
  }

  function advanceUntil<T>(promise: Promise<T>, ms: number): Promise<T> {
    let isOver = false;
    const end = () => {
      isOver = true;
    };
    promise.then(end, end);
    return runLoop("clock.advanceUntil()", loop, loops);

    async function loop(check: () => void): Promise<T> {
      for (let step = 0; !isOver; step += 1) {
        if (step === 1000) throw new Error(`Nothing settled in 1,000 steps of ${ms} ms.`);
        await move(ms, check);
        await waitForTurn();
      }
      return promise;
    }
  }

  function hasDue(target: number): boolean {
    return [...sleepers].some(({ until }) => until <= target);
  }
}

/** The platform's locks. A test may replace the global ones. */
const locks = globalThis.navigator?.locks as LockManager | undefined;

/**
 * Resolves after all code that waits only for promises, loaded chunks of the client, or the platform's locks. A browser
 * manages locks in another process, so a test clock has to wait for its responses.
 */
export async function settled(): Promise<void> {
  // workerd resolves the `import()` of a loaded module only after a turn of the event loop
  if (isWorkerd) await waitForTurn();
  for (let turn = isWorkerd ? 1 : 0; turn < 5; turn += 1) {
    await locks?.query();
    await yieldTask();
  }
}

/** Waits for one task of the event loop. Tasks that are already queued run before it. */
export function yieldTask(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(undefined);
  });
}

/** Returns the listeners that are added to a signal from now on, without the removed ones. */
export function trackListeners(signal: AbortSignal): ReadonlySet<unknown> {
  const listeners = new Set<unknown>();
  const add = signal.addEventListener.bind(signal);
  const remove = signal.removeEventListener.bind(signal);
  signal.addEventListener = (...given: Parameters<typeof add>) => {
    listeners.add(given[1]);
    add(...given);
  };
  signal.removeEventListener = (...given: Parameters<typeof remove>) => {
    listeners.delete(given[1]);
    remove(...given);
  };
  return listeners;
}

/** Waits turns of the event loop until `isDone` returns true. A test must not end before that. */
export function waitUntil(isDone: () => boolean | Promise<boolean>, turn = waitForTurn): Promise<void> {
  return runLoop("waitUntil()", async (check) => {
    while (!(await isDone())) {
      await turn();
      check();
    }
  });
}

/** Waits for a turn of the whole event loop, which workerd needs to read a body or load a module. */
export function waitForTurn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

/** Resolves as soon as `isWanted` returns true for the state of a store. */
export function shows<State>(store: Store<State>, isWanted: (state: State) => boolean): Promise<void> {
  return new Promise((resolve) => {
    const check = () => {
      if (!isWanted(store.getSnapshot())) return;
      stop();
      resolve();
    };
    const stop = store.subscribe(check);
    check();
  });
}

/** Creates a generator of numbers in [0, 1): the same ones for the same seed. */
export function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Returns the error of `promise`; fails if it fulfils. */
export async function catchError(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error("expected a rejection");
}

/** Decodes Base64 to bytes. */
export function decodeBase64(base64: string): Uint8Array {
  return Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
}
