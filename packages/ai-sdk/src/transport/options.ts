import type { ChatModel, ChatResult } from "@sluice/core";
import type { ToolSet } from "ai";
import type { SluiceModelOptions } from "../base/provider-options.js";
import type { StreamStorage } from "./memory.js";

/** Options of `createChatTransport`. Only `model` is required. */
export interface ChatTransportOptions {
  /** Id of the chat model. `body: { model }` of a message replaces it. */
  readonly model: string;
  /** Instructions for the model, before the conversation. A function is called for each request. @default none */
  readonly instructions?: string | (() => string | PromiseLike<string>);
  /**
   * Fields of the request, such as `max_tokens` and `reasoning_effort`. `body` of a message adds to them.
   *
   * @default none
   */
  readonly params?: SluiceModelOptions<ChatModel>;
  /**
   * Tools of the AI SDK, by name. A tool with `execute` runs in the page; a call of one without waits for
   * `addToolOutput`. Give `sendAutomaticallyWhen` to `useChat`, so that results are sent.
   *
   * @default none
   */
  readonly tools?: ToolSet;
  /**
   * Decides if the user has to approve a call of a tool with `execute` first. `needsApproval` of a tool does, too. A
   * function that fails counts as true.
   *
   * @default no call needs it
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
   * Largest number of answers in one message, each of which is billed. A further one is an error, and is not sent: without
   * a limit a model that calls tools could go on for ever. @default 8
   */
  readonly maxSteps?: number;
  /** Makes `metadata` of the message from its whole answer: usage, timing, model. @default none */
  readonly messageMetadata?: (turn: ChatResult) => unknown;
  /**
   * Keeps the id of an answer in progress, so that `resume: true` of `useChat` continues it after a reload. Before there is
   * an id it keeps the key of the request, with which `regenerate()` gets the same answer. Needs a proxy with a stream log.
   * A message waits at most 3.5 seconds for it. @default an answer ends with its page
   */
  readonly storage?: StreamStorage;
}
