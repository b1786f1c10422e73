import { type Client, type ClientEvent, subscribeToEvents } from "@sluice/core";
import { createStore, systemClock } from "@sluice/core/internal";
import { type TappedRequest, tapOf } from "./tap.js";

type Step = Extract<ClientEvent, { readonly callId: string; readonly path: string }>;
type Of<Type extends Step["type"]> = Extract<Step, { readonly type: Type }>;

/** One attempt of a call. */
interface Attempt {
  readonly attempt: number;
  readonly status?: number;
  readonly ms?: number;
  readonly requestId?: string | undefined;
  /** Milliseconds until the next attempt, and the error that leads to it. */
  readonly retry?: { readonly delayMs: number; readonly message: string };
}

/** One call of the client, as its events tell it. */
export interface CallRecord {
  readonly callId: string;
  readonly kind: string;
  readonly model: string | undefined;
  readonly path: string;
  readonly chatId: string | undefined;
  /** Unix milliseconds. */
  readonly startedAt: number;
  readonly attempts: readonly Attempt[];
  readonly firstChunkMs: number | undefined;
  readonly end: Of<"end"> | undefined;
  readonly warnings: readonly string[];
  /** Its requests, if the client has `devtoolsFetch`. */
  readonly requests: readonly TappedRequest[];
  /** True if frames were dropped to bound the memory. */
  readonly isTrimmed: boolean;
}

/** Sums of a model since the recording began, also of calls that were dropped. */
export interface Usage {
  readonly calls: number;
  readonly tokensIn: number;
  readonly tokensOut: number;
  readonly images: number;
}

/** One run of a tool. */
export interface ToolRecord {
  readonly key: string;
  readonly name: string;
  readonly chatId: string | undefined;
  /** State after the run; undefined while it runs. */
  readonly state: string | undefined;
  readonly ms: number | undefined;
}

/** Snapshot of a recording. */
export interface Recorded {
  /** Calls, newest first. */
  readonly calls: readonly CallRecord[];
  /** Number of older calls that are no longer kept. */
  readonly dropped: number;
  readonly usage: ReadonlyMap<string, Usage>;
  /** The last runs of tools, newest first. */
  readonly tools: readonly ToolRecord[];
}

/** Recording of a client's calls. */
export interface Recording {
  readonly getSnapshot: () => Recorded;
  readonly subscribe: (listener: () => void) => () => void;
  /** Begins to record; a second call changes nothing. */
  readonly start: () => void;
  readonly clear: () => void;
}

/** Largest number of calls, and of runs of tools, that are kept. */
const MOST_CALLS = 200;
/** Largest number of attempts, requests and warnings that are kept of a call. */
const MOST_STEPS = 30;
/** Largest number of characters of frames and bodies that are kept of all calls. */
const MOST_TEXT = 4_000_000;

const recordings = new WeakMap<Client, Recording>();

/** Returns the recording of a client, which lives as long as the client. */
export function recordingOf(client: Client): Recording {
  const known = recordings.get(client);
  if (known) return known;
  const recording = createRecording(client);
  recordings.set(client, recording);
  return recording;
}

function createRecording(client: Client): Recording {
  const tap = tapOf(client);
  /** Calls by their id, oldest first. */
  const calls = new Map<string, CallRecord>();
  let dropped = 0;
  let usage: ReadonlyMap<string, Usage> = new Map();
  let tools: readonly ToolRecord[] = [];
  let isStarted = false;
  const store = createStore<Recorded>(
    () => ({ calls: [...calls.values()].toReversed(), dropped, usage, tools }),
    {
      throttleMs: 100,
      clock: systemClock,
    },
  );
  return { ...store, start, clear };

  function start(): void {
    if (isStarted) return;
    isStarted = true;
    subscribeToEvents(client, onEvent);
    tap?.subscribe(onRequest);
  }

  function clear(): void {
    for (const [id, { end }] of calls) if (end) calls.delete(id);
    dropped = 0;
    usage = new Map();
    tools = [];
    store.flush();
  }

  function onEvent(event: ClientEvent): void {
    if (event.type === "warning") return onWarning(event);
    if (event.type === "tool-start" || event.type === "tool-end") return onTool(event);
    if (!("path" in event)) return;
    const call = stepped(calls.get(event.callId) ?? newCall(event), event);
    calls.set(event.callId, call);
    if (event.type === "request") tap?.announce(event.callId);
    if (event.type === "end") addUsage(event);
    while (calls.size > MOST_CALLS) {
      const [oldest = ""] = calls.keys();
      calls.delete(oldest);
      dropped += 1;
    }
    store.changed();
  }

  function onTool(event: Extract<ClientEvent, { readonly type: "tool-start" | "tool-end" }>): void {
    const { name, toolCallId, messageId, chatId } = event;
    const key = `${messageId}/${toolCallId}`;
    const { state, durationMs: ms } = event.type === "tool-end" ? event : {};
    const others = tools.filter((known) => known.key !== key);
    tools = [{ key, name, chatId, state, ms }, ...others].slice(0, MOST_CALLS);
    store.changed();
  }

  function onWarning({ callId = "", issue }: Extract<ClientEvent, { readonly type: "warning" }>): void {
    const call = calls.get(callId);
    if (!call) return;
    calls.set(callId, { ...call, warnings: [...call.warnings, issue.message].slice(-MOST_STEPS) });
    store.changed();
  }

  function onRequest(request: TappedRequest): void {
    const call = calls.get(request.callId ?? "");
    if (!call) return;
    const others = call.requests.filter((known) => known !== request);
    if (others.length === call.requests.length)
      calls.set(call.callId, { ...call, requests: [...others, request].slice(-MOST_STEPS) });
    if (request.end) trim();
    store.changed();
  }

  /** Drops the frames of the oldest calls, until all fit. */
  function trim(): void {
    let text = 0;
    for (const [id, call] of [...calls].toReversed()) {
      text += sizeOf(call);
      if (text > MOST_TEXT && call.end) calls.set(id, withoutText(call));
    }
  }

  function addUsage({ kind, model = kind, usage: counts }: Of<"end">): void {
    if (!counts) return;
    const before = usage.get(model);
    usage = new Map(usage).set(model, {
      calls: (before?.calls ?? 0) + 1,
      tokensIn: (before?.tokensIn ?? 0) + (counts.prompt_tokens ?? 0),
      tokensOut: (before?.tokensOut ?? 0) + (counts.completion_tokens ?? counts.output_tokens ?? 0),
      images: (before?.images ?? 0) + (counts.generated_images ?? 0),
    });
  }
}

function newCall({ callId, kind, model, path, chatId }: Step): CallRecord {
  return {
    callId,
    kind,
    model,
    path,
    chatId,
    startedAt: Date.now(),
    attempts: [],
    firstChunkMs: undefined,
    end: undefined,
    warnings: [],
    requests: [],
    isTrimmed: false,
  };
}

function stepped(call: CallRecord, event: Step): CallRecord {
  switch (event.type) {
    case "request":
      return {
        ...call,
        // a resumption counts its own attempts from 1
        attempts: [...call.attempts, { attempt: (call.attempts.at(-1)?.attempt ?? 0) + 1 }].slice(
          -MOST_STEPS,
        ),
      };
    case "response": {
      const { status, durationMs: ms, requestId } = event;
      return { ...call, attempts: withLast(call.attempts, { status, ms, requestId }) };
    }
    case "retry": {
      const { delayMs, error } = event;
      return { ...call, attempts: withLast(call.attempts, { retry: { delayMs, message: error.message } }) };
    }
    case "first-chunk":
      return { ...call, firstChunkMs: event.durationMs };
    case "end":
      return { ...call, end: event };
  }
}

function withLast(attempts: readonly Attempt[], more: Partial<Attempt>): readonly Attempt[] {
  const last = attempts.at(-1);
  return last ? attempts.with(-1, { ...last, ...more }) : attempts;
}

function sizeOf({ requests }: CallRecord): number {
  return requests
    .flatMap(({ body, frames }) => [body ?? "", ...frames.map(({ text }) => text)])
    .reduce((size, { length }) => size + length, 0);
}

function withoutText(call: CallRecord): CallRecord {
  return {
    ...call,
    isTrimmed: true,
    requests: call.requests.map((request) => ({ ...request, body: undefined, frames: [] })),
  };
}
