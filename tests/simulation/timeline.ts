/** Virtual time. Only scheduled events happen, one after the other. */
export interface Timeline {
  /** Milliseconds since the simulation began. */
  now(): number;
  /** Calls `act` after `ms` milliseconds. Returns a function that cancels the call. */
  after(ms: number, act: () => void): () => void;
  /** Advances the time to `at`. After each event, all promises run before the next event. */
  runUntil(at: number): Promise<void>;
  /** Number of events that were run. */
  readonly events: number;
}

/** Number of events after which a simulation counts as one without rest. A simulated day has some thousands. */
const MAX_EVENTS = 30_000;

interface Event {
  readonly at: number;
  readonly act: () => void;
}

// the real timer: nothing else in a simulation uses the event loop
const { setImmediate: turn } = globalThis;

/** Resolves when all promises that wait for nothing but promises have run. */
export function waitForQuiet(): Promise<void> {
  return new Promise((resolve) => turn(resolve));
}

/** Creates a timeline that begins at 0. */
export function createTimeline(maxEvents = MAX_EVENTS): Timeline {
  // sorted by time; events at the same time are in scheduling order
  const events: Event[] = [];
  let now = 0;
  const timeline = { now: () => now, after: runAfter, runUntil, events: 0 };
  return timeline;

  function runAfter(ms: number, act: () => void): () => void {
    const event = { at: now + Math.max(0, ms), act };
    events.splice(findIndexAfter(event.at), 0, event);
    return () => {
      const index = events.indexOf(event);
      if (index >= 0) events.splice(index, 1);
    };
  }

  function findIndexAfter(at: number): number {
    let index = events.length;
    while (index > 0 && (events[index - 1] as Event).at > at) index -= 1;
    return index;
  }

  async function runUntil(at: number): Promise<void> {
    await waitForQuiet();
    for (let next = events[0]; next && next.at <= at; next = events[0]) {
      events.shift();
      now = next.at;
      timeline.events += 1;
      if (timeline.events > maxEvents) throw new Error("the simulation does not come to rest");
      next.act();
      await waitForQuiet();
    }
    now = Math.max(now, at);
  }
}
