/** A scripted reply. */
export interface ScriptedReply {
  /** Text of the reply. @default "" */
  readonly content?: string;
  /** Thinking. Sent only if the model and the request think. @default a text of the emulator */
  readonly reasoning?: string;
  /** Tool calls. `arguments` is a value to send as JSON, or a string to send unchanged. @default none */
  readonly toolCalls?: readonly { readonly name: string; readonly arguments?: unknown }[];
}

/** The rule of a script for one request. */
export interface Scripted {
  /** Reply of a chat. Undefined leaves the reply to the emulator. */
  readonly reply: ScriptedReply | undefined;
  /** Faults in the syntax of prompts, `[[slow]][[drop]]`. */
  readonly faults: string;
}
