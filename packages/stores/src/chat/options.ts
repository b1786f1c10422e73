import type { ChatModel, ChatRequestMessage, RecordStorage, StandardSchema, Tool } from "@sluice/core";
import type { ChatParams, SharedChatParams } from "@sluice/core/internal";
import type { StoreRequestOptions } from "../request-options.js";
import type { TurnRunner } from "./chat.js";
import type { InitialMessage } from "./initial-messages.js";
import type { ChatTurn } from "./message.js";

interface TargetOf<Model extends ChatModel> {
  /** The model that answers. It decides which parameters there are. */
  readonly model: Model;
  /** Parameters of each request, under the gateway's own names: `max_tokens`, `temperature`, … */
  readonly params?: ChatParams[Model];
  /** False sends requests as they are, with any model and fields. @default true */
  readonly checks?: boolean;
}

/** A model that may be any of the known ones. */
interface SharedTarget {
  /** The model that answers. It decides which parameters there are. */
  readonly model: ChatModel;
  /** Parameters of each request, under the gateway's own names: those that all models have. */
  readonly params?: SharedChatParams;
  /** False sends requests as they are, with any model and fields. @default true */
  readonly checks?: boolean;
}

/**
 * A model that is not one of `Known`. The compiler prints this name, the model and the known models where a model is
 * none of them.
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

/** The model that answers, and its parameters under the gateway's own names. */
export type ChatTarget =
  | { [Id in ChatModel]: TargetOf<Id> }[ChatModel]
  | SharedTarget
  | NotListed<string, ChatModel>;

/**
 * Behaviour of a message that is sent while an answer is in flight.
 *
 * - `reject`: it is not sent
 * - `queue`: it is sent after the answer, if that ends as `complete`, `length` or `content-filter`. After any other end
 * it stays in `queued`, until a later turn ends so or `retry()` has nothing else to send
 * - `replace`: the answer is stopped first
 */
export type WhenBusy = "reject" | "queue" | "replace";

/** Second argument of `prepareMessages`. */
interface PrepareContext {
  /** Aborts when the turn is stopped, and after `timeout.totalMs`. */
  readonly signal: AbortSignal;
}

interface ChatBehaviour<Output> extends Omit<StoreRequestOptions, "checks"> {
  /** Name of the chat in `storage`. */
  readonly id?: string;
  /**
   * Messages of the thread at the beginning, unless `storage` has some. Ids may be missing. A message that
   * cannot be read is a `ValidationError` that names its index and field.
   */
  readonly initialMessages?: readonly InitialMessage[];
  /**
   * System prompt: the first message of each request, also after tool calls. A function is called for each
   * request and may be async; if it fails, the turn ends with its error, as `not-sent` if it has no answer yet.
   * The prompt is not part of the thread: it is never in `messages`, never stored, and `reset()` and
   * `setMessages()` keep it. System messages in `initialMessages` follow it.
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
   * Changes the messages of each request, before it is checked and sent: a long conversation is made shorter, a text is
   * checked or redacted. It gets what would be sent: the instructions, then the thread, with a result for each tool call.
   * It returns what is sent, at once or later, and never changes the thread. It is called for each request, also after
   * tool calls and for `retry`; the same messages should give the same result. A result without its
   * tool call is left out, and a call without its result gets one that says so, with a `warning`.
   *
   * If it fails, the turn ends with its error, as `not-sent` if it has no answer yet. `signal` aborts when the turn is
   * stopped, and after `timeout.totalMs`.
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
   * Most answers to one question, with tool results between them. Then the turn ends as `step-limit`, with a
   * `warning`, and `retry()` allows as many again.
   *
   * @default 8
   */
  readonly maxSteps?: number;
  /**
   * Schema of the response, which becomes `output`. The model gets it as JSON Schema after `instructions`, in JSON mode
   * where it has one. A schema without a JSON Schema gives a warning: add one with `withJSONSchema`, or describe the
   * JSON in the prompt.
   */
  readonly outputSchema?: StandardSchema<Output>;
  /** Behaviour of a message that is sent while an answer is in flight. @default "reject" */
  readonly whenBusy?: WhenBusy;
  /** Shortest time between two notifications while an answer streams, in milliseconds. @default 50 */
  readonly throttleMs?: number;
  /**
   * Storage that keeps the thread between page loads; needs `id`. Tabs with the same `id` and storage show
   * the same messages. The chat waits at most 3 s for the storage. If it fails, the chat works from memory
   * and emits `storage-error`.
   */
  readonly storage?: RecordStorage;
  /** Runs the turns elsewhere, as `serverRunner` of the sync lab does. Needs `id` and `storage`. @default the page runs them */
  readonly runner?: TurnRunner;
  /**
   * Called once for each turn that ended, well or not. Not called for a turn that waits for the user or the
   * app.
   */
  readonly onFinish?: (turn: ChatTurn) => void;
  /** Called once for each turn that failed, before `onFinish`. */
  readonly onError?: (error: Error, turn: ChatTurn) => void;
}

/**
 * Options of a chat. `id`, `initialMessages`, `throttleMs`, `storage` and `runner` are read once; all others whenever
 * they are used.
 */
export type ChatStoreOptions<Output = unknown> =
  | { [Id in ChatModel]: OptionsOf<Id, Output> }[ChatModel]
  | SharedOptions<Output>
  | NotListedOptions<string, ChatModel, Output>;

/**
 * Options of a chat by the type of its `model`: those of one known model, of a type that may be any of them, or of a
 * model that is not known yet. A single interface for a known model: an editor shows no docs of fields that several types
 * of a union have.
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

// interfaces, not an intersection with `ChatTarget`: the compiler then prints their names only
interface OptionsOf<Model extends ChatModel, Output> extends TargetOf<Model>, ChatBehaviour<Output> {}
interface SharedOptions<Output> extends SharedTarget, ChatBehaviour<Output> {}
interface NotListedOptions<Model extends string, Known extends string, Output>
  extends NotListed<Model, Known>,
    ChatBehaviour<Output> {}
