import type { ChatModel, ChatRequestMessage, StandardSchema, Tool } from "@sluice/core";
import type { ChatParams, SharedChatParams } from "@sluice/core/extend";
import type { StoreRequestOptions } from "../base/request-options.js";
import type { InitialMessage } from "./initial-messages.js";
import type { ChatTurn } from "./message.js";
import type { ChatRunner } from "./runner.js";
import type { ChatStorage } from "./storages.js";

interface TargetOf<Model extends ChatModel> {
  /** Model of the requests. It decides which parameters exist. */
  readonly model: Model;
  /** Parameters of each request, under the gateway's own names: `max_tokens`, `temperature`, … */
  readonly params?: ChatParams[Model];
  /** False sends requests as they are, with any model and fields. @default true */
  readonly checks?: boolean;
}

/** A model that may be any known model. */
interface SharedTarget {
  /** Model of the requests. It decides which parameters exist. */
  readonly model: ChatModel;
  /** Parameters of each request, under the gateway's own names: the parameters that all models share. */
  readonly params?: SharedChatParams;
  /** False sends requests as they are, with any model and fields. @default true */
  readonly checks?: boolean;
}

/**
 * A model that is not in `Known`. For an unknown model the compiler prints this name, the model and the known models.
 */
// biome-ignore lint/correctness/noUnusedVariables: `Known` is there to be printed
interface NotListed<Model extends string, Known extends string> {
  /** Id of the model. */
  readonly model: Model;
  /** False sends any model, and `params` as they are. */
  readonly checks: false;
  /** Parameters of each request, under the gateway's own names. */
  readonly params?: Readonly<Record<string, unknown>>;
}

/** Second argument of `prepareMessages`. */
interface PrepareContext {
  /** Aborts when the turn is stopped, and after `timeout.totalMs`. */
  readonly signal: AbortSignal;
}

interface ChatBehaviour<Output> extends Omit<StoreRequestOptions, "checks"> {
  /** Name of the chat in `storage`. */
  readonly id?: string;
  /**
   * Initial messages of the thread, unless `storage` has messages. Ids are optional. An invalid message throws a
   * `ValidationError` that names its index and field.
   */
  readonly initialMessages?: readonly InitialMessage[];
  /**
   * System prompt: the first message of each request, including requests after tool calls. A function is called for each
   * request and may be async. If it fails, the turn ends with its error, as `not-sent` before the first response. The
   * prompt is not part of the thread: it is not in `messages`, not stored, and not affected by `reset()` and
   * `setMessages()`. System messages in `initialMessages` follow it.
   *
   * @example
   * ```ts
   * createChatStore(client, {
   *   model: "delta-5.3",
   *   instructions: () => `You help with recipes. Today is ${new Date().toDateString()}.`,
   * });
   * ```
   */
  readonly instructions?: string | (() => string | Promise<string>);
  /**
   * Changes the messages of each request before it is checked and sent, e.g. to shorten a long conversation or to redact
   * text. Gets the instructions and the thread, with a result for each tool call. Returns the messages to send, or a
   * promise of them; the thread does not change. It is called for each request, including `retry` and requests after tool
   * calls. The same messages should give the same result. A result without its tool call is omitted. A call without its
   * result gets a result that says so, with a `warning`.
   *
   * If it fails, the turn ends with its error, as `not-sent` before the first response. `signal` aborts when the turn
   * is stopped, and after `timeout.totalMs`.
   *
   * @example
   * ```ts
   * createChatStore(client, {
   *   model: "delta-5.3",
   *   prepareMessages(messages) {
   *     const isSystem = ({ role }: { role: string }) => role === "system";
   *     return [...messages.filter(isSystem), ...messages.filter((message) => !isSystem(message)).slice(-20)];
   *   },
   * });
   * ```
   */
  readonly prepareMessages?: (
    messages: readonly ChatRequestMessage[],
    context: PrepareContext,
  ) => readonly ChatRequestMessage[] | Promise<readonly ChatRequestMessage[]>;
  /** The tools that the model may call. */
  readonly tools?: readonly Tool[];
  /**
   * Maximum number of responses to one question, with tool results between them. At the limit the turn ends as
   * `step-limit`, with a `warning`, and `retry()` allows as many again.
   *
   * @default 8
   */
  readonly maxSteps?: number;
  /**
   * Schema of the response, which becomes `output`. The model gets it as JSON Schema after `instructions`, in JSON mode
   * if the model supports it. Wrap a schema of valibot: `withJSONSchema(schema)`. A schema without a JSON Schema gives a
   * warning, and the prompt has to describe the JSON.
   */
  readonly outputSchema?: StandardSchema<Output>;
  /**
   * Behavior of a message that is sent while a response is in flight.
   *
   * - `reject`: it is not sent
   * - `queue`: it is sent after the response, if that ends as `complete`, `length` or `content-filter`. After any other
   *   end it stays in `queued` until a later turn ends that way, or `retry()` has nothing else to send
   * - `replace`: the response is stopped first
   *
   * @default "reject"
   */
  readonly whenBusy?: "reject" | "queue" | "replace";
  /** Minimum time between two notifications while a response streams, in milliseconds. @default 50 */
  readonly throttleMs?: number;
  /**
   * Storage of the thread between page loads, such as `indexedDBStorage()`; needs `id`. `customStorage` adapts your own.
   * Tabs with the same `id` and storage show the same messages. The chat waits at most 3 s for the storage. If the storage
   * fails, the chat works in memory and emits `storage-error`.
   */
  readonly storage?: ChatStorage;
  /**
   * Runs the turns elsewhere, e.g. on a server: `customRunner()` with your own. The runner then has its own `tools`,
   * `instructions`, `prepareMessages` and `outputSchema`.
   *
   * @default the page runs them
   */
  readonly runner?: ChatRunner;
  /**
   * Called once for each turn that ended, with or without an error. Not called for a turn that waits for the user or the
   * app.
   */
  readonly onFinish?: (turn: ChatTurn) => void;
  /** Called once for each turn that failed, before `onFinish`. */
  readonly onError?: (error: Error, turn: ChatTurn) => void;
}

/**
 * Options of a chat. `id`, `initialMessages`, `throttleMs`, `storage` and `runner` are read once, all others at each use.
 */
export type ChatStoreOptions<Output = unknown> =
  | { [Id in ChatModel]: OptionsOf<Id, Output> }[ChatModel]
  | SharedOptions<Output>
  | NotListedOptions<string, ChatModel, Output>;

/**
 * Options of a chat by the type of its `model`: one known model, any known model, or an unknown model. A known model has
 * a single interface, because editors show no docs for fields that several types of a union share.
 */
export type ChatOptionsFor<Model extends string, Output> = [Model] extends [ChatModel]
  ? IsUnion<Model> extends true
    ? SharedOptions<Output>
    : OptionsOf<Model, Output>
  : string extends Model
    ? ChatStoreOptions<Output>
    : NotListedOptions<Model, ChatModel, Output>;

type IsUnion<T, All = T> = true extends (T extends T ? ([All] extends [T] ? false : true) : never)
  ? true
  : false;

// interfaces, not intersections: the compiler then prints their names only
interface OptionsOf<Model extends ChatModel, Output> extends TargetOf<Model>, ChatBehaviour<Output> {}
interface SharedOptions<Output> extends SharedTarget, ChatBehaviour<Output> {}
interface NotListedOptions<Model extends string, Known extends string, Output>
  extends NotListed<Model, Known>,
    ChatBehaviour<Output> {}
