import type { WhenBusy } from "@sluice/stores/internal";
import type { DeviceTab } from "./device-world.js";

/* Answers that the user asks for again, for the rules of what is paid. */

/** A page with a chat. */
type ChatTab = Pick<DeviceTab, "page" | "chat">;

/** Creates the account of the repeats of one world: the same one counts once, wherever it is pressed. */
export function createRepeats() {
  const known = new Set<string>();
  let presses = 0;
  return {
    /** Counts the answers that `retry` asks for anew in these tabs, without those that were counted before. */
    countNew(tabs: readonly ChatTab[], whenBusy: WhenBusy): number {
      presses += 1;
      const before = known.size;
      for (const tab of tabs) {
        const asked = tab.page.state === "open" ? askedAnew(tab, whenBusy, presses) : undefined;
        if (asked !== undefined) known.add(asked);
      }
      return known.size - before;
    },
  };
}

/**
 * Names the answer that `retry` asks for anew: the one that it repeats, and the number of those beside it. Undefined where
 * there is nothing to repeat, where the answer will be the first one, and where it has a key, as its end is not known.
 */
function askedAnew({ chat, page }: ChatTab, whenBusy: WhenBusy, press: number): string | undefined {
  const { status, messages, isRestoring } = chat.getSnapshot();
  // it acts on what it reads
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
