/** An answer that an object has asked for, read, checked and paid: nothing of it has to be read again. */
export interface Kept {
  /** The id of its stream; absent where it is none. */
  readonly streamId?: string;
  /** True where it was kept already. */
  readonly isReplayed: boolean;
  /** Returns the `error.code` with which its stream has ended; undefined where it is whole. */
  readonly endCode?: () => Promise<string | undefined>;
}

const answers = new WeakMap<Response, Kept>();

/** Marks the answer of an extension of this package's own. A mark that others could make would let them pass unread. */
export function markKept(response: Response, kept: Kept): Response {
  answers.set(response, kept);
  return response;
}

/** Returns the mark of an answer; undefined where it has none. */
export function keptOf(response: Response): Kept | undefined {
  return answers.get(response);
}
