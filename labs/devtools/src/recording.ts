import { type Client, type ClientEvent, subscribeToEvents } from "@sluice/core";
import { createStore } from "@sluice/core/extend";
import { getTap, type TappedRequest } from "./tap.js";

/** An event of a call. */
type CallEvent = Extract<ClientEvent, { readonly callId: string; readonly path: string }>;
type EventOf<Type extends CallEvent["type"]> = Extract<CallEvent, { readonly type: Type }>;

/** One attempt of a call. */
interface Attempt {
  readonly attempt: number;
  readonly status?: number;
  readonly ms?: number;
  readonly requestId?: string | undefined;
  /** Milliseconds until the next attempt, and the error that caused it. */
  readonly retry?: { readonly delayMs: number; readonly message: string };
}

/** One call of the client, reconstructed from its events. */
export interface CallRecord {
  readonly callId: string;
  readonly kind: string;
  readonly model: string | undefined;
  readonly path: string;
  readonly chatId: string | undefined;
  readonly messageId: string | undefined;
  /** Unix milliseconds. */
  readonly startedAt: number;
  readonly attempts: readonly Attempt[];
  readonly firstChunkMs: number | undefined;
  readonly end: EventOf<"end"> | undefined;
  readonly warnings: readonly string[];
  /** Its requests, if the client has `devtoolsFetch`. */
  readonly requests: readonly TappedRequest[];
  /** True if frames were dropped to limit the memory. */
  readonly isTrimmed: boolean;
}

/** Sums of a model since the recording began, including dropped calls. */
export interface Usage {
  readonly calls: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly images: number;
}

/** One tool run. */
export interface ToolRecord {
  readonly key: string;
  readonly name: string;
  readonly chatId: string | undefined;
  /** State after the run. Undefined while it runs. */
  readonly state: string | undefined;
  readonly ms: number | undefined;
}

/** Snapshot of a recording. */
export interface RecordingSnapshot {
  /** Calls, newest first. */
  readonly calls: readonly CallRecord[];
  /** Number of older calls that were dropped. */
  readonly dropped: number;
  readonly usage: ReadonlyMap<string, Usage>;
  /** The last tool runs, newest first. */
  readonly tools: readonly ToolRecord[];
}

/** Recording of a client's calls. */
export interface Recording {
  readonly getSnapshot: () => RecordingSnapshot;
  readonly subscribe: (listener: () => void) => () => void;
  /** Starts to record. A second call changes nothing. */
  readonly start: () => void;
  readonly clear: () => void;
}

/** Maximum number of recorded calls and tool runs. */
const MAX_CALLS = 200;
/** Maximum number of recorded attempts, requests and warnings per call. */
const MAX_STEPS = 30;
/** Maximum number of characters of frames and bodies in all calls. */
const MAX_TEXT = 4_000_000;

const recordings = new WeakMap<Client, Recording>();

/** Returns the recording of a client, which lives as long as the client. */
export function getRecording(client: Client): Recording {
  const known = recordings.get(client);
  if (known) return known;
  const recording = createRecording(client);
  recordings.set(client, recording);
  return recording;
}

/**
 * Records the calls of a client from now on. Otherwise the recording starts with the first mount of the panel.
 *
 * @example
 * ```ts
 * const client = createClient({ baseURL: "/api", fetch: devtoolsFetch() });
 * recordCalls(client);
 * ```
 */
export function recordCalls(client: Client): void {
  getRecording(client).start();
}

function createRecording(client: Client): Recording {
  const tap = getTap(client);
  /** Calls by their id, oldest first. */
  const calls = new Map<string, CallRecord>();
  let dropped = 0;
  let usage: ReadonlyMap<string, Usage> = new Map();
  let tools: readonly ToolRecord[] = [];
  let isStarted = false;
  const store = createStore<RecordingSnapshot>(
    () => ({ calls: [...calls.values()].toReversed(), dropped, usage, tools }),
    { throttleMs: 100 },
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
    const call = applyEvent(calls.get(event.callId) ?? createCall(event), event);
    calls.set(event.callId, call);
    if (event.type === "request") tap?.announce(event.callId);
    if (event.type === "end") addUsage(event);
    while (calls.size > MAX_CALLS) {
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
    tools = [{ key, name, chatId, state, ms }, ...others].slice(0, MAX_CALLS);
    store.changed();
  }

  function onWarning({ callId = "", issue }: Extract<ClientEvent, { readonly type: "warning" }>): void {
    const call = calls.get(callId);
    if (!call) return;
    calls.set(callId, { ...call, warnings: [...call.warnings, issue.message].slice(-MAX_STEPS) });
    store.changed();
  }

  function onRequest(request: TappedRequest): void {
    const call = calls.get(request.callId ?? "");
    if (!call) return;
    if (!call.requests.includes(request))
      calls.set(call.callId, { ...call, requests: [...call.requests, request].slice(-MAX_STEPS) });
    if (request.end) dropOldTexts();
    store.changed();
  }

  /** Drops the frames and bodies of the oldest calls until the rest fits. */
  function dropOldTexts(): void {
    let characters = 0;
    for (const [id, call] of [...calls].toReversed()) {
      characters += computeSize(call);
      if (characters > MAX_TEXT && call.end) calls.set(id, dropText(call));
    }
  }

  function addUsage({ kind, model = kind, usage: counts }: EventOf<"end">): void {
    if (!counts) return;
    const previous = usage.get(model);
    usage = new Map(usage).set(model, {
      calls: (previous?.calls ?? 0) + 1,
      inputTokens: (previous?.inputTokens ?? 0) + (counts.prompt_tokens ?? 0),
      outputTokens: (previous?.outputTokens ?? 0) + (counts.completion_tokens ?? counts.output_tokens ?? 0),
      images: (previous?.images ?? 0) + (counts.generated_images ?? 0),
    });
  }
}

function createCall({ callId, kind, model, path, chatId, messageId }: CallEvent): CallRecord {
  return {
    callId,
    kind,
    model,
    path,
    chatId,
    messageId,
    startedAt: Date.now(),
    attempts: [],
    firstChunkMs: undefined,
    end: undefined,
    warnings: [],
    requests: [],
    isTrimmed: false,
  };
}

/** Returns the record of a call after an event. */
function applyEvent(call: CallRecord, event: CallEvent): CallRecord {
  switch (event.type) {
    case "request":
      return {
        ...call,
        // a resumption restarts its count of attempts at 1
        attempts: [...call.attempts, { attempt: (call.attempts.at(-1)?.attempt ?? 0) + 1 }].slice(-MAX_STEPS),
      };
    case "response": {
      const { status, durationMs: ms, requestId } = event;
      return { ...call, attempts: updateLast(call.attempts, { status, ms, requestId }) };
    }
    case "retry": {
      const { delayMs, error } = event;
      return { ...call, attempts: updateLast(call.attempts, { retry: { delayMs, message: error.message } }) };
    }
    case "first-chunk":
      return { ...call, firstChunkMs: event.durationMs };
    case "end":
      return { ...call, end: event };
  }
}

function updateLast(attempts: readonly Attempt[], changes: Partial<Attempt>): readonly Attempt[] {
  const last = attempts.at(-1);
  return last ? attempts.with(-1, { ...last, ...changes }) : attempts;
}

/** Counts the characters of the frames and bodies of a call. */
function computeSize({ requests }: CallRecord): number {
  return requests
    .flatMap(({ body, frames }) => [body ?? "", ...frames.map(({ text }) => text)])
    .reduce((size, { length }) => size + length, 0);
}

function dropText(call: CallRecord): CallRecord {
  return {
    ...call,
    isTrimmed: true,
    requests: call.requests.map((request) => ({ ...request, body: undefined, frames: [] })),
  };
}
