import { type RefObject, useEffect } from "react";

/** A place in a log. */
export interface Place {
  /** Id of the conversation. */
  readonly chat: string;
  /** Id of the first turn in view. */
  readonly turn: string;
  /** Distance from the top of the log down to that of the turn, in pixels. */
  readonly offset: number;
}

const KEY = "sluice-place";

/** Events of a person who goes elsewhere in a log. */
const MOVES = ["wheel", "pointerdown", "keydown"] as const;

/** The place in a chat before a reload; undefined where it was the end. */
export function placeBefore(chat: string | undefined): Place | undefined {
  try {
    const kept = JSON.parse(sessionStorage.getItem(KEY) ?? "null") as Place | null;
    return kept && kept.chat === chat ? kept : undefined;
  } catch {
    return undefined;
  }
}

function keepPlace(place: Place | undefined): void {
  try {
    if (place) sessionStorage.setItem(KEY, JSON.stringify(place));
    else sessionStorage.removeItem(KEY);
  } catch {
    // private windows: a reload shows the end
  }
}

function turnsOf(log: HTMLElement): readonly HTMLElement[] {
  return [...log.querySelectorAll<HTMLElement>("[data-turn]")];
}

function offsetOf(turn: HTMLElement, log: HTMLElement): number {
  return turn.getBoundingClientRect().top - log.getBoundingClientRect().top;
}

/**
 * Keeps the place in a log over a reload, and holds the log at the one `before` while its turns are still rendered,
 * until the user moves.
 *
 * @param chat id of the conversation; undefined where no place is kept
 */
export function usePlace(
  chat: string | undefined,
  before: Place | undefined,
  log: RefObject<HTMLElement | null>,
  content: RefObject<HTMLElement | null>,
  isAtEnd: boolean,
): void {
  useEffect(() => {
    keepPlace(undefined);
    if (!before || !log.current || !content.current) return;
    const element = log.current;
    const hold = new ResizeObserver(() => {
      const turn = turnsOf(element).find((one) => one.dataset["turn"] === before.turn);
      if (turn) element.scrollTop += offsetOf(turn, element) - before.offset;
    });
    const stop = () => hold.disconnect();
    hold.observe(content.current);
    for (const move of MOVES) addEventListener(move, stop, { once: true, capture: true });
    return () => {
      stop();
      for (const move of MOVES) removeEventListener(move, stop, { capture: true });
    };
  }, [before, log, content]);
  useEffect(() => {
    if (chat === undefined) return;
    const keep = () => {
      const { current } = log;
      const turn = current && turnsOf(current).find((one) => offsetOf(one, current) + one.offsetHeight > 0);
      if (turn && !isAtEnd)
        keepPlace({ chat, turn: turn.dataset["turn"] as string, offset: offsetOf(turn, current) });
    };
    addEventListener("pagehide", keep);
    return () => removeEventListener("pagehide", keep);
  }, [chat, log, isAtEnd]);
}
