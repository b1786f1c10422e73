import type { RunnerSetup } from "./options.js";
import type { Changes, RunPlace } from "./place.js";
import { claimKey, isPendingCall, type KeptCall, messageIn, reactionKey } from "./records.js";
import type { OpenTurn, TurnRows } from "./rows.js";

const PAGE_LEFT = { error: "the page that ran this call was closed before it had a result" };

/** Opens what devices say about the calls of a turn: reactions, and claims of pages that run a call. */
export function openDevices<Env>(place: RunPlace<Env>, setup: RunnerSetup<Env>, rows: TurnRows) {
  return { isWaiting, hasReaction, take, overdue };

  /** True for a turn that waits for devices, none of which has said anything yet. */
  function isWaiting(turn: OpenTurn): boolean {
    const isRunning = callsOf(turn).some(({ state }) => state === "running");
    return !isRunning && pendingOf(turn).length > 0 && !hasReaction(turn);
  }

  function hasReaction(turn: OpenTurn): boolean {
    return pendingOf(turn).some(({ id }) => place.read(reactionKey(turn.tip, id)) !== undefined);
  }

  /**
   * Takes over what devices have written about calls: notes the times of claims, and removes what is about no call that
   * waits. Returns true if there is a reaction.
   */
  function take(turn: OpenTurn | undefined, changes: Changes): boolean {
    const said = [...changes].flatMap(([key, value]) =>
      /^\/(?:reaction|claim)\//.test(key) && value !== undefined ? key : [],
    );
    if (said.length === 0) return false;
    const pending = turn ? pendingOf(turn) : [];
    const claims = pending.map(({ id }) => claimKey(turn?.tip ?? "", id)).filter((key) => said.includes(key));
    const reactions = pending.map(({ id }) => reactionKey(turn?.tip ?? "", id));
    const strange = said.filter((key) => !claims.includes(key) && !reactions.includes(key));
    place.write(new Map(strange.map((key) => [key, undefined])));
    if (turn && claims.length > 0) noteClaims(turn, claims);
    return reactions.some((key) => said.includes(key));
  }

  /** Waits no longer than `pageToolMs` for a page that has taken a call. */
  function noteClaims(turn: OpenTurn, keys: readonly string[]): void {
    const now = Date.now();
    rows.keep({ ...turn, claims: { ...Object.fromEntries(keys.map((key) => [key, now])), ...turn.claims } });
    place.wakeBy(now + setup.pageToolMs);
  }

  /** Returns reactions in the place of pages that have taken a call and not answered in time. */
  function overdue(turn: OpenTurn): Changes {
    const late = new Map<string, unknown>();
    for (const { id } of pendingOf(turn)) {
      const at = turn.claims[claimKey(turn.tip, id)];
      const key = reactionKey(turn.tip, id);
      if (at === undefined || place.read(key) !== undefined) continue;
      if (Date.now() < at + setup.pageToolMs) place.wakeBy(at + setup.pageToolMs);
      else late.set(key, { output: PAGE_LEFT });
    }
    return late;
  }

  function callsOf({ tip }: OpenTurn): readonly KeptCall[] {
    return messageIn(place.read(tip))?.message.toolCalls ?? [];
  }

  function pendingOf(turn: OpenTurn): readonly KeptCall[] {
    return callsOf(turn).filter(isPendingCall);
  }
}
