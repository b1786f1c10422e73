import { yieldToHost } from "../clock.js";
import { isGatewayError } from "../errors.js";
import type { Client, RequestOptions } from "../http.js";
import { createStore, type Store } from "../store.js";
import type { UncheckedRequest } from "../validate.js";
import type { ChatOutcome, ChatUsage } from "./delta.js";
import type { AlphaChatRequest, ChatRequest, DeltaChatRequest, GammaChatRequest } from "./schema.js";
import { type ChatStream, streamChat } from "./stream.js";
import type { ChatTiming } from "./turn.js";

/** One message of a thread, as it is shown. It keeps its identity for as long as nothing in it changes. */
export interface ThreadMessage {
  readonly id: string;
  readonly role: "system" | "user" | "assistant";
  readonly content: string;
  /** The model's thinking, where it showed any. */
  readonly reasoning?: string;
  /** How the answer ended; absent on other roles and while it is under way. */
  readonly outcome?: ChatOutcome;
  /** Why, where `outcome` is `"error"` or `"truncated"`. */
  readonly error?: unknown;
  /** The model that answered. */
  readonly model?: string;
  readonly usage?: ChatUsage;
  readonly timing?: ChatTiming;
}

/**
 * `ready` for the next message; `submitted` until the first token; `streaming` until the end; `error` if that end
 * was none, until the next attempt.
 */
export type ChatStatus = "ready" | "submitted" | "streaming" | "error";

/** What a chat shows. */
export interface ChatState {
  readonly messages: readonly ThreadMessage[];
  readonly status: ChatStatus;
  /** What went wrong in the last attempt. */
  readonly error: unknown;
  /** Of the last answer. */
  readonly usage: ChatUsage | undefined;
  readonly timing: ChatTiming | undefined;
}

type Params<Request> = Omit<Request, "model" | "messages" | "stream">;

/** Everything of a request but its messages; `model` decides which fields there are. */
export type ChatParams =
  | ({ readonly model: AlphaChatRequest["model"] } & Params<AlphaChatRequest>)
  | ({ readonly model: GammaChatRequest["model"] } & Params<GammaChatRequest>)
  | ({ readonly model: DeltaChatRequest["model"] } & Params<DeltaChatRequest>)
  | ({ readonly model: string } & UncheckedRequest);

/** What `createChatStore` takes. */
export interface ChatStoreOptions {
  /** The model and its parameters; a function is asked for each request. */
  readonly params: ChatParams | (() => ChatParams);
  readonly initialMessages?: readonly ThreadMessage[];
  /** The shortest time between two notifications while an answer streams. @default 50 */
  readonly throttleMs?: number;
  /** Headers, timeouts and retry of each request; a function is asked for each. */
  readonly request?: RequestOptions | (() => RequestOptions);
  /** Called once for each answer that ended, however it did, with the message as it stands. */
  readonly onFinish?: (message: ThreadMessage) => void;
  /** Called once for each answer that failed, before `onFinish`. */
  readonly onError?: (error: unknown, message: ThreadMessage) => void;
}

/** A chat: a thread of messages and the answer under way. Framework-free; hooks are thin faces of it. */
export interface ChatStore extends Store<ChatState> {
  /**
   * Appends a user's message and asks for an answer. Never rejects: resolves, once the answer has ended, to its
   * message with `outcome` and `error`; to undefined if an answer is still under way, and then nothing was sent.
   */
  send(content: string): Promise<ThreadMessage | undefined>;
  /** Ends the answer under way; the text that came stays, with the outcome `"stopped"`. */
  stop(): void;
  /** Asks again for the last answer, in its place. Resolves as `send` does. */
  regenerate(): Promise<ThreadMessage | undefined>;
  /** Stops, and forgets all messages. */
  clear(): void;
}

/** An answer under way, and the message that it will become. */
interface Run {
  readonly id: string;
  readonly model: string;
  readonly stream: ChatStream;
}

/** How long deltas are read in one go before the host gets its turn: half a frame. */
const SLICE_MS = 8;

/**
 * Makes a chat on `streamChat`. Nothing is sent before `send`.
 *
 * @example
 * ```ts
 * const chat = createChatStore(client, { params: { model: "delta-5.3" } });
 * chat.subscribe(() => render(chat.getSnapshot().messages));
 * await chat.send("Hello");
 * ```
 */
export function createChatStore(client: Client, options: ChatStoreOptions): ChatStore {
  const { clock } = client;
  let messages: readonly ThreadMessage[] = options.initialMessages ?? [];
  let error: unknown;
  let run: Run | undefined;

  const store = createStore(compute, { throttleMs: options.throttleMs ?? 50, clock });
  return {
    getSnapshot: store.getSnapshot,
    subscribe: store.subscribe,
    async send(content) {
      if (run) return undefined;
      messages = [...messages, { id: createId(), role: "user", content }];
      return answer();
    },
    stop,
    async regenerate() {
      const lastUser = messages.findLastIndex(({ role }) => role === "user");
      if (run || lastUser === -1) return undefined;
      messages = messages.slice(0, lastUser + 1);
      return answer();
    },
    clear() {
      stop();
      run = undefined;
      messages = [];
      error = undefined;
      store.flush();
    },
  };

  function compute(): ChatState {
    const live = liveMessage();
    const last = live ?? messages.findLast(({ outcome }) => outcome !== undefined);
    const isWaiting = live && live.content === "" && live.reasoning === undefined;
    const idle = error === undefined ? "ready" : "error";
    return {
      messages: live ? [...messages, live] : messages,
      status: live ? (isWaiting ? "submitted" : "streaming") : idle,
      error,
      usage: last?.usage,
      timing: last?.timing,
    };
  }

  function liveMessage(): ThreadMessage | undefined {
    if (!run) return undefined;
    const { content, reasoning_content: reasoning } = run.stream.snapshot;
    const { id, model } = run;
    return { id, role: "assistant", content, ...(reasoning !== undefined && { reasoning }), model };
  }

  function stop(): void {
    run?.stream.abort();
  }

  async function answer(): Promise<ThreadMessage> {
    const params = typeof options.params === "function" ? options.params() : options.params;
    const request = typeof options.request === "function" ? options.request() : options.request;
    const asked = { ...params, messages: messages.flatMap(wireMessageOf) } as ChatRequest;
    const own = { id: createId(), model: params.model, stream: streamChat(client, asked, request) };
    run = own;
    error = undefined;
    store.flush();
    const ended = await follow(own);
    // after clear(), or a run that replaced this one, the thread is not this run's to write
    if (run !== own) return ended;
    run = undefined;
    messages = [...messages, ended];
    error = ended.error;
    store.flush();
    if (ended.error !== undefined) options.onError?.(ended.error, ended);
    options.onFinish?.(ended);
    return ended;
  }

  async function follow({ id, model, stream }: Run): Promise<ThreadMessage> {
    let usage: ChatUsage | undefined;
    let timing: ChatTiming | undefined;
    let end: Pick<ThreadMessage, "outcome" | "error">;
    let sliceEnd = clock.now() + SLICE_MS;
    try {
      for await (const delta of stream) {
        if (delta.type === "usage") usage = delta.usage;
        store.changed();
        if (clock.now() < sliceEnd) continue;
        await yieldToHost();
        sliceEnd = clock.now() + SLICE_MS;
      }
      const turn = await stream.result();
      timing = turn.timing;
      end = { outcome: turn.outcome };
    } catch (cause) {
      end = endOf(cause);
    }
    const { content, reasoning_content: reasoning } = stream.snapshot;
    return {
      id,
      role: "assistant",
      content,
      ...(reasoning !== undefined && { reasoning }),
      ...end,
      model,
      ...(usage && { usage }),
      timing: timing ?? stream.timing,
    };
  }
}

function endOf(cause: unknown): Pick<ThreadMessage, "outcome" | "error"> {
  if (!isGatewayError(cause)) {
    const isAbort = cause instanceof Error && cause.name === "AbortError";
    return isAbort ? { outcome: "stopped" } : { outcome: "error", error: cause };
  }
  const isCut = cause.name === "StreamError" && cause.reason === "truncated";
  return { outcome: isCut ? "truncated" : "error", error: cause };
}

/** What the model is told of a message. An answer that never began says nothing, and is left out. */
function wireMessageOf({ role, content }: ThreadMessage): ChatRequest["messages"] {
  return role === "assistant" && content === "" ? [] : [{ role, content }];
}

/** 128 random bits; not `randomUUID`, which plain-http pages do not have. */
function createId(): string {
  return Array.from(crypto.getRandomValues(new Uint32Array(4)), (word) => word.toString(36)).join("");
}
