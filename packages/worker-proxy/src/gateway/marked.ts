/** Facts about an answer that an object has requested, read, checked and paid for: it passes unread. */
export interface PluginMark {
  /** The id of its stream; absent where it is none. */
  readonly streamId?: string;
  /** True where it was stored already. */
  readonly isReplayed: boolean;
  /** True for an answer of the plugin's own making: it holds nothing of the gateway's, and its body passes as it is. */
  readonly isOwn?: boolean;
  /** Returns the `error.code` with which its stream has ended; undefined where it is whole. */
  readonly endCode?: () => Promise<string | undefined>;
}

const marks = new WeakMap<Response, PluginMark>();

/** Marks the answer of one of our own plugins. No other plugin can make the mark: its answers are checked as the gateway's. */
export function markKept(response: Response, mark: PluginMark): Response {
  marks.set(response, mark);
  return response;
}

/** Returns the mark of an answer; undefined where it has none. */
export function markOf(response: Response): PluginMark | undefined {
  return marks.get(response);
}
