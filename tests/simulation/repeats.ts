import type { WhenBusy } from "@sluice/stores/internal";
import type { DeviceTab } from "./device-simulation.js";

/* Replies that the user requests again, for the rules about billing. */

/** A page with a chat. */
type ChatTab = Pick<DeviceTab, "page" | "chat">;

/** Creates the account of the repeats of one simulation: the same one counts once, wherever it is pressed. */
export function createRepeats() {
  const known = new Set<string>();
  let presses = 0;
  return {
    /** Counts the replies that `retry` requests again in these tabs, without those counted before. */
    countNew(tabs: readonly ChatTab[], whenBusy: WhenBusy): number {
      presses += 1;
      const before = known.size;
      for (const tab of tabs) {
        const asked = tab.page.state === "open" ? findRepeated(tab, whenBusy, presses) : undefined;
        if (asked !== undefined) known.add(asked);
      }
      return known.size - before;
    },
  };
}

/**
 * Names the reply that `retry` requests again: the repeated message, and the number of its siblings. Undefined if there
 * is nothing to repeat, if the reply would be the first one, or if it has a key, because its outcome is unknown.
 */
function findRepeated({ chat, page }: ChatTab, whenBusy: WhenBusy, press: number): string | undefined {
  const { status, messages, isRestoring } = chat.getSnapshot();
  // it acts on its own read
  if (isRestoring) return `${page.id}, press ${press}`;
  const isBusy = status === "submitted" || status === "streaming";
  const last = messages.at(-1);
  if ((isBusy && whenBusy !== "replace") || last?.role !== "assistant") return undefined;
  if (["complete", "tool-calls", "step-limit"].includes(last.outcome ?? "")) return undefined;
  if (last.outcome && last.idempotencyKey) return undefined;
  const thread = chat.getThread();
  const parent = thread.find(({ id }) => id === last.id)?.parentId;
  return `${last.id}, ${thread.filter(({ parentId }) => parentId === parent).length}`;
}
