/** Facts about an answer that an object has requested, read, checked and paid for: it passes unread. */
export interface Kept {
  /** The id of its stream; absent where it is none. */
  readonly streamId?: string;
  /** True where it was kept already. */
  readonly isReplayed: boolean;
  /** True for an answer of the part's own making: it holds nothing of the gateway's, and its body passes as it is. */
  readonly isOwn?: boolean;
  /** Returns the `error.code` with which its stream has ended; undefined where it is whole. */
  readonly endCode?: () => Promise<string | undefined>;
}

const answers = new WeakMap<Response, Kept>();

/** Marks the answer of one of our own extensions. No other extension can make the mark: its answers are always read. */
export function markKept(response: Response, kept: Kept): Response {
  answers.set(response, kept);
  return response;
}

/** Returns the mark of an answer; undefined where it has none. */
export function keptOf(response: Response): Kept | undefined {
  return answers.get(response);
}
