/** A reply that a test decides. */
export interface ScriptedReply {
  /** Text of the answer. @default "" */
  readonly content?: string;
  /** Thinking; sent only if the model and the request think. @default a text of the emulator */
  readonly reasoning?: string;
  /** Tool calls. `arguments` is a value that is sent as JSON, or a string that is sent as it is. @default none */
  readonly toolCalls?: readonly { readonly name: string; readonly arguments?: unknown }[];
}

/** Part of a script that one request gets. */
export interface Scripted {
  /** Reply of a chat; undefined leaves it to the emulator. */
  readonly reply: ScriptedReply | undefined;
  /** Faults as a prompt has them, `[[slow]][[drop]]`. */
  readonly faults: string;
}
