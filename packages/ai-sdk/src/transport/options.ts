import type { ChatModel, ChatResult } from "@sluice/core";
import type { ToolSet } from "ai";
import type { SluiceModelOptions } from "../base/provider-options.js";
import type { StreamStorage } from "./progress-store.js";

/** Options of `createChatTransport`. Only `model` is required. */
export interface ChatTransportOptions {
  /** Id of the chat model. A message overrides it with `body: { model }`. */
  readonly model: string;
  /** Instructions for the model, before the conversation. A function runs for each request. @default none */
  readonly instructions?: string | (() => string | PromiseLike<string>);
  /**
   * Fields of the request, such as `max_tokens` and `reasoning_effort`. The `body` of a message adds fields.
   *
   * @default none
   */
  readonly params?: SluiceModelOptions<ChatModel>;
  /**
   * Tools of the AI SDK, by name. A tool with `execute` runs in the page. A call of a tool without it waits for
   * `addToolOutput`. Set `sendAutomaticallyWhen` of `useChat`, so that results are sent.
   *
   * @default none
   */
  readonly tools?: ToolSet;
  /**
   * Returns true if the user must approve a call of a tool with `execute`, in addition to the tool's own
   * `needsApproval`. An error counts as true.
   *
   * @default no call needs approval
   */
  readonly needsApproval?: (call: {
    /** Id of the call. */
    readonly toolCallId: string;
    /** Name of the tool. */
    readonly toolName: string;
    /** Arguments, checked by the tool's schema. */
    readonly input: unknown;
  }) => boolean | PromiseLike<boolean>;
  /**
   * Maximum number of steps in one UI message. Each step is billed. Another step fails with an error and is not sent:
   * without a limit, a model could call tools forever. @default 8
   */
  readonly maxSteps?: number;
  /** Creates the `metadata` of the UI message from its complete result: usage, timing, model. @default none */
  readonly messageMetadata?: (result: ChatResult) => unknown;
  /**
   * Stores the id of a message in progress, so that `resume: true` of `useChat` continues it after a reload. Until
   * there is an id, it stores the key of the request, so that `regenerate()` gets the same message. Needs a proxy with
   * `resumableStreams()`. A message waits at most 3.5 seconds for the storage. @default a message ends with its page
   */
  readonly storage?: StreamStorage;
}
