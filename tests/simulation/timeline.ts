/** Virtual time. Nothing happens in it but what was scheduled, one event after the other. */
export interface Timeline {
  /** Milliseconds since the world began. */
  now(): number;
  /** Calls `act` after `ms` milliseconds. Returns a function that cancels the call. */
  after(ms: number, act: () => void): () => void;
  /** Lets time pass until `at`. After each event all promises run before the next one. */
  runUntil(at: number): Promise<void>;
  /** Number of events that were run. */
  readonly events: number;
}

/** Number of events after which a world counts as one without rest. A simulated day has some thousands. */
const MOST_EVENTS = 30_000;

interface Event {
  readonly at: number;
  readonly act: () => void;
}

// the real one: nothing else in a world takes a turn of the event loop
const { setImmediate: turn } = globalThis;

/** Resolves when all promises that wait for nothing but promises have run. */
export function quiet(): Promise<void> {
  return new Promise((resolve) => turn(resolve));
}

/** Creates a timeline that begins at 0. */
export function createTimeline(mostEvents = MOST_EVENTS): Timeline {
  // in the order of their times; those of one time in the order in which they were scheduled
  const events: Event[] = [];
  let now = 0;
  const timeline = { now: () => now, after, runUntil, events: 0 };
  return timeline;

  function after(ms: number, act: () => void): () => void {
    const event = { at: now + Math.max(0, ms), act };
    events.splice(indexAfter(event.at), 0, event);
    return () => {
      const index = events.indexOf(event);
      if (index >= 0) events.splice(index, 1);
    };
  }

  function indexAfter(at: number): number {
    let index = events.length;
    while (index > 0 && (events[index - 1] as Event).at > at) index -= 1;
    return index;
  }

  async function runUntil(at: number): Promise<void> {
    await quiet();
    for (let next = events[0]; next && next.at <= at; next = events[0]) {
      events.shift();
      now = next.at;
      timeline.events += 1;
      if (timeline.events > mostEvents) throw new Error("the world does not come to rest");
      next.act();
      await quiet();
    }
    now = Math.max(now, at);
  }
}
