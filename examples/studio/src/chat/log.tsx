import clsx from "clsx";
import { ArrowDown } from "lucide-react";
import {
  type ReactNode,
  type RefObject,
  useDeferredValue,
  useEffect,
  useMemo,
  useRef,
  useState,
} from "react";
import { useStickToBottom } from "use-stick-to-bottom";
import { useMedia } from "../browser.js";
import { type Chat, ChatContext, turnsOf } from "./chat.js";
import { Turn } from "./turn.js";

/** Number of turns that are shown at once; a longer chat gets its older turns when the browser has time. */
const FIRST_TURNS = 12;

interface LogProps {
  readonly chat: Chat;
  /** Id of the conversation, where a reload keeps the place in it. @default it shows the end */
  readonly placeId?: string;
  /** Name of the log, for screen readers. */
  readonly label?: string;
  /** Content in place of an empty chat. */
  readonly empty?: ReactNode;
}

/** The messages of a chat. It stays at the end while an answer grows, until the user scrolls up. */
export function Log({ chat, placeId, label = "Messages", empty }: LogProps) {
  const { messages, isBusy, isRestoring, error, verbs } = chat;
  const isStill = useMedia("(prefers-reduced-motion: reduce)");
  const [before] = useState(() => placeBefore(placeId));
  const { scrollRef, contentRef, isAtBottom, scrollToBottom } = useStickToBottom({
    initial: before ? false : "instant",
    resize: isStill ? "instant" : "smooth",
  });
  usePlace(placeId, before, scrollRef, contentRef, isAtBottom);
  const turns = useMemo(() => turnsOf(messages), [messages]);
  const all = useDeferredValue(turns);
  const shown = turns.length - all.length > FIRST_TURNS ? turns.slice(-FIRST_TURNS) : turns;
  const asked = messages.findLast(({ role }) => role === "user")?.id;
  const lastAsked = useRef(asked);
  useEffect(() => {
    // a room that is shown again runs its effects again, and keeps its scroll position
    if (asked === undefined || asked === lastAsked.current) return;
    const isRestored = lastAsked.current === undefined && before !== undefined;
    lastAsked.current = asked;
    if (!isRestored) void scrollToBottom("instant");
  }, [asked, before, scrollToBottom]);
  useEffect(() => {
    const log = scrollRef.current;
    if (!log || !isAtBottom) return;
    let height = log.clientHeight;
    // a keyboard that opens on a phone makes the log lower: its end stays in view
    const observer = new ResizeObserver(() => {
      const isLower = log.clientHeight < height;
      height = log.clientHeight;
      if (isLower && height > 0) void scrollToBottom("instant");
    });
    observer.observe(log);
    return () => observer.disconnect();
  }, [scrollRef, isAtBottom, scrollToBottom]);

  return (
    <ChatContext value={verbs}>
      <div className="relative flex min-h-0 grow flex-col">
        <div
          ref={scrollRef}
          role="log"
          aria-label={label}
          aria-live="off"
          aria-busy={isBusy}
          // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls it
          tabIndex={0}
          // while an answer grows, its end moves away from where the browser would scroll to
          onKeyDown={(event) => {
            if (event.key !== "End" || event.target !== event.currentTarget) return;
            event.preventDefault();
            void scrollToBottom("instant");
          }}
          className="flex grow flex-col overflow-y-auto overscroll-contain -outline-offset-2"
        >
          <div ref={contentRef} className="flex grow flex-col">
            {turns.length === 0 && !isRestoring && empty}
            {shown.map((turn, index) => {
              const isLast = index === shown.length - 1;
              return (
                <Turn
                  key={turn.id}
                  turn={turn}
                  isLast={isLast}
                  isBusy={isBusy && isLast}
                  error={isLast ? error : undefined}
                />
              );
            })}
          </div>
        </div>
        <button
          type="button"
          aria-label="Jump to latest"
          onClick={() => void scrollToBottom()}
          className={clsx(
            "control-square absolute bottom-2 left-1/2 inline-flex -translate-x-1/2 items-center justify-center rounded-full border bg-raised shadow-pop transition-opacity hover:bg-hover",
            (isAtBottom || turns.length === 0) && "invisible opacity-0",
          )}
        >
          <ArrowDown className="size-4" aria-hidden />
        </button>
      </div>
    </ChatContext>
  );
}

/** A place in a log. */
interface Place {
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
function placeBefore(chat: string | undefined): Place | undefined {
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

function turnsIn(log: HTMLElement): readonly HTMLElement[] {
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
function usePlace(
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
      const turn = turnsIn(element).find((one) => one.dataset["turn"] === before.turn);
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
      const turn = current && turnsIn(current).find((one) => offsetOf(one, current) + one.offsetHeight > 0);
      if (turn && !isAtEnd)
        keepPlace({ chat, turn: turn.dataset["turn"] as string, offset: offsetOf(turn, current) });
    };
    addEventListener("pagehide", keep);
    return () => removeEventListener("pagehide", keep);
  }, [chat, log, isAtEnd]);
}
