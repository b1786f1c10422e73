import type { StoreControl } from "@sluice/core/internal";
import { closePassedCalls } from "./insertion-point.js";
import type { ThreadMessage } from "./message.js";
import type { Thread } from "./message-tree.js";
import type { ChatState } from "./state.js";

/** A thread, and the store that shows it. */
export interface Shown {
  readonly thread: Thread;
  readonly store: StoreControl<ChatState>;
}

/** Finds the last shown message. */
export function lastMessage({ thread }: Pick<Shown, "thread">): ThreadMessage | undefined {
  return thread.path.at(-1);
}

/** Shows a thread that another tab may have changed meanwhile. */
export function refresh({ thread, store }: Shown): void {
  closePassedCalls(thread);
  store.flush();
}
