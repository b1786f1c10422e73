import { getCurrentPage, type Page } from "./page.js";
import { pickBetween, type Random } from "./random.js";
import type { Timeline } from "./timeline.js";

/** Creates the broadcast channels of one browser. A message reaches each other tab after some milliseconds. */
export function createChannels(timeline: Timeline, random: Random) {
  const open = new Set<{ readonly name: string; readonly page: Page; readonly target: EventTarget }>();

  return {
    /** Number of channels that a page has open. */
    countFor: (page: Page) => [...open].filter((each) => each.page === page).length,
    drop(page: Page): void {
      for (const each of open) if (each.page === page) open.delete(each);
    },
    open(name: string): object {
      const page = getCurrentPage() as Page;
      const channel = { name, page, target: new EventTarget() };
      open.add(channel);
      return Object.assign(channel.target, {
        postMessage(message: unknown) {
          const data = structuredClone(message);
          for (const other of open) {
            if (other === channel || other.name !== name) continue;
            const event = Object.assign(new Event("message"), { data });
            timeline.after(pickBetween(random, 1, 9), () =>
              other.page.deliver(() => open.has(other) && other.target.dispatchEvent(event)),
            );
          }
        },
        close: () => void open.delete(channel),
      });
    },
  };
}
