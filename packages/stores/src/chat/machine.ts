/**
 * State of the turn of a chat.
 *
 * - `ready`: no turn is in flight
 * - `placing`: the question is added to the thread; its images are read
 * - `requesting`: the next request is created
 * - `responding`: a response streams, then its calls are checked
 * - `calling`: tools run
 *
 * `step` counts the responses of the turn. `id` is the response that the turn works on.
 */
export type TurnState =
  | { readonly name: "ready" }
  | { readonly name: "placing" }
  | { readonly name: "requesting"; readonly step: number; readonly below: string | undefined }
  | { readonly name: "responding"; readonly step: number; readonly id: string }
  | { readonly name: "calling"; readonly step: number; readonly id: string };

/** Events of a turn. Each event carries the facts about the thread that the decision needs. */
export type TurnEvent =
  /** A turn begins. */
  | { readonly type: "start" }
  /** The thread has the question. `hasOpenCalls` describes `below`; `stored` is a stored response to read first. */
  | {
      readonly type: "placed";
      readonly below: string | undefined;
      readonly hasOpenCalls: boolean;
      readonly stored: string | undefined;
    }
  /** The thread has the draft of a response, and its request is sent. */
  | { readonly type: "requested"; readonly id: string }
  /** A response has ended. `callsTools` is true if tool results form the next request. */
  | { readonly type: "responded"; readonly callsTools: boolean; readonly maxSteps: number }
  /** The proxy has lost the stored response. */
  | { readonly type: "lost"; readonly below: string | undefined }
  /** No call runs. `isOver` is true if a call waits for the user, or another tab continued the thread. */
  | { readonly type: "settled"; readonly isOver: boolean }
  | { readonly type: "failed"; readonly error: unknown }
  | { readonly type: "stopped" };

/** What a turn does next. */
export type TurnEffect =
  | { readonly type: "request"; readonly below: string | undefined; readonly isFirst: boolean }
  | { readonly type: "read"; readonly id: string }
  | { readonly type: "call-tools"; readonly id: string }
  | { readonly type: "end-at-limit"; readonly id: string; readonly steps: number }
  | { readonly type: "end" }
  | { readonly type: "end-failed"; readonly error: unknown }
  | { readonly type: "end-stopped" };

/** The states that each event may lead to, by the current state. Unlisted events change nothing. */
const transitions: Readonly<
  Record<TurnState["name"], Partial<Record<TurnEvent["type"], readonly TurnState["name"][]>>>
> = {
  ready: { start: ["placing"] },
  placing: { placed: ["requesting", "responding", "calling"], failed: ["ready"], stopped: ["ready"] },
  requesting: { requested: ["responding"], failed: ["ready"], stopped: ["ready"] },
  responding: {
    responded: ["calling", "ready"],
    lost: ["requesting"],
    failed: ["ready"],
    stopped: ["ready"],
  },
  calling: { settled: ["requesting", "ready"], failed: ["ready"], stopped: ["ready"] },
};

/** The state of a turn that is not in flight. */
export const READY: TurnState = { name: "ready" };

/** Computes the next state of a turn and the effect that the caller performs. */
export function reduceTurn(
  state: TurnState,
  event: TurnEvent,
): { readonly state: TurnState; readonly effect?: TurnEffect } {
  const allowed = transitions[state.name][event.type];
  if (!allowed) return { state };
  const next = decide(state, event);
  if (!allowed.includes(next.state.name))
    throw new Error(`no transition from ${state.name} by ${event.type} to ${next.state.name}`);
  return next;
}

function decide(
  state: TurnState,
  event: TurnEvent,
): { readonly state: TurnState; readonly effect?: TurnEffect } {
  const step = "step" in state ? state.step : 1;
  switch (event.type) {
    case "start":
      return { state: { name: "placing" } };
    case "placed":
      if (event.stored !== undefined) return toReading(step, event.stored);
      return event.hasOpenCalls && event.below !== undefined
        ? toCalling(0, event.below)
        : toRequesting(step, event.below);
    case "requested":
      return toReading(step, event.id);
    case "lost":
      return toRequesting(step, event.below);
    case "responded": {
      const { id } = state as Extract<TurnState, { name: "responding" }>;
      if (!event.callsTools) return { state: READY, effect: { type: "end" } };
      return step < event.maxSteps
        ? toCalling(step, id)
        : { state: READY, effect: { type: "end-at-limit", id, steps: step } };
    }
    case "settled": {
      const { id } = state as Extract<TurnState, { name: "calling" }>;
      return event.isOver ? { state: READY, effect: { type: "end" } } : toRequesting(step + 1, id);
    }
    case "failed":
      return { state: READY, effect: { type: "end-failed", error: event.error } };
    case "stopped":
      return { state: READY, effect: { type: "end-stopped" } };
  }
}

function toRequesting(step: number, below: string | undefined) {
  return {
    state: { name: "requesting", step, below },
    effect: { type: "request", below, isFirst: step === 1 },
  } as const;
}

function toReading(step: number, id: string) {
  return { state: { name: "responding", step, id }, effect: { type: "read", id } } as const;
}

function toCalling(step: number, id: string) {
  return { state: { name: "calling", step, id }, effect: { type: "call-tools", id } } as const;
}
