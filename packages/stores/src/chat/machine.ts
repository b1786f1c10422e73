/**
 * State of the turn of a chat. Entering a state runs its action.
 *
 * - `preparing`: the question is added to the thread; its images are read
 * - `requesting`: the next request is created
 * - `responding`: a response streams, then its calls are checked
 * - `calling`: tools run
 * - `ended`: by its last response, the limit of responses, an error before a request, or a stop
 *
 * `step` counts the responses of the turn. `id` is the response that the turn works on, `parentId` the message that the
 * next response follows.
 */
export type TurnState =
  | { readonly name: "preparing" }
  | { readonly name: "requesting"; readonly step: number; readonly parentId: string | undefined }
  | { readonly name: "responding" | "calling"; readonly step: number; readonly id: string }
  | { readonly name: "ended"; readonly reason: "response" | "stop" }
  | { readonly name: "ended"; readonly reason: "limit"; readonly step: number; readonly id: string }
  | { readonly name: "ended"; readonly reason: "failure"; readonly error: unknown };

/** Events of a turn. Each event carries what the decision needs to know about the thread. */
export type TurnEvent =
  /** The thread has the question. `hasOpenCalls` describes `parentId`. A response `storedId` is read first. */
  | {
      readonly type: "prepared";
      readonly parentId: string | undefined;
      readonly hasOpenCalls: boolean;
      readonly storedId: string | undefined;
    }
  /** The thread has the draft of a response, and its request is sent. */
  | { readonly type: "requested"; readonly id: string }
  /** A response has ended. `callsTools` is true if tool results form the next request. */
  | { readonly type: "responded"; readonly callsTools: boolean; readonly maxSteps: number }
  /** The proxy has lost the stored response. */
  | { readonly type: "lost"; readonly parentId: string | undefined }
  /** No call runs. `isOver` is true if a call waits for the user, or another tab continued the thread. */
  | { readonly type: "calls-ended"; readonly isOver: boolean }
  | { readonly type: "failed"; readonly error: unknown }
  | { readonly type: "stopped" };

/** The states that each event may lead to, by the current state. Unlisted events change nothing. */
const transitions: Readonly<
  Record<TurnState["name"], Partial<Record<TurnEvent["type"], readonly TurnState["name"][]>>>
> = {
  preparing: { prepared: ["requesting", "responding", "calling"], failed: ["ended"], stopped: ["ended"] },
  requesting: { requested: ["responding"], failed: ["ended"], stopped: ["ended"] },
  responding: {
    responded: ["calling", "ended"],
    lost: ["requesting"],
    failed: ["ended"],
    stopped: ["ended"],
  },
  calling: { "calls-ended": ["requesting", "ended"], failed: ["ended"], stopped: ["ended"] },
  ended: {},
};

/** Computes the next state of a turn; the same object if the event changes nothing. */
export function reduceTurn(state: TurnState, event: TurnEvent): TurnState {
  const allowed = transitions[state.name][event.type];
  if (!allowed) return state;
  const next = computeNextState(state, event);
  if (!allowed.includes(next.name))
    throw new Error(`no transition from ${state.name} by ${event.type} to ${next.name}`);
  return next;
}

function computeNextState(state: TurnState, event: TurnEvent): TurnState {
  const { step = 1, id = "" } = state as { readonly step?: number; readonly id?: string };
  switch (event.type) {
    case "prepared": {
      const { parentId, storedId, hasOpenCalls } = event;
      if (storedId !== undefined) return { name: "responding", step, id: storedId };
      return hasOpenCalls && parentId !== undefined
        ? { name: "calling", step: 0, id: parentId }
        : { name: "requesting", step, parentId };
    }
    case "requested":
      return { name: "responding", step, id: event.id };
    case "lost":
      return { name: "requesting", step, parentId: event.parentId };
    case "responded":
      if (!event.callsTools) return { name: "ended", reason: "response" };
      return step < event.maxSteps
        ? { name: "calling", step, id }
        : { name: "ended", reason: "limit", step, id };
    case "calls-ended":
      return event.isOver
        ? { name: "ended", reason: "response" }
        : { name: "requesting", step: step + 1, parentId: id };
    case "failed":
      return { name: "ended", reason: "failure", error: event.error };
    case "stopped":
      return { name: "ended", reason: "stop" };
  }
}
