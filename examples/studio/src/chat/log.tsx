import type { ThreadMessage } from "@sluice/core";
import clsx from "clsx";
import { ArrowDown } from "lucide-react";
import { type ReactNode, useDeferredValue, useEffect, useMemo, useRef, useState } from "react";
import { useStickToBottom } from "use-stick-to-bottom";
import { useMedia } from "../browser.js";
import { type Chat, ChatContext, CONTINUE } from "./chat.js";
import { placeBefore, usePlace } from "./place.js";
import { Turn, type TurnMessages } from "./turn.js";

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
  const turns = useMemo(() => grouped(messages), [messages]);
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

/** Groups messages to turns: a question, and the answers to it. */
function grouped(messages: readonly ThreadMessage[]): TurnMessages[] {
  const turns: { id: string; question?: ThreadMessage; answers: ThreadMessage[]; text: string }[] = [];
  for (const message of messages) {
    if (message.role === "user") {
      turns.push({ id: message.id, question: message, answers: [], text: "" });
    } else if (message.role === "assistant") {
      if (turns.length === 0) turns.push({ id: message.id, answers: [], text: "" });
      turns.at(-1)?.answers.push(message);
    }
  }
  for (const [at, turn] of turns.entries()) {
    const text = turn.answers.at(-1)?.content ?? "";
    const isRest = turn.question?.content === CONTINUE;
    turn.text = isRest ? completed(turns[at - 1]?.text ?? "", text) : text;
  }
  return turns;
}

/** Puts before the rest of a cut text what it needs to be read: the fence of its code, the head of its table, … */
function completed(cut: string, rest: string): string {
  const fences = cut.match(/^ *(?:```|~~~).*$/gm) ?? [];
  if (isOdd(fences.length)) return `${fences.at(-1)}\n${rest}`;
  const prose = cut.replace(/^ *(```|~~~)[\s\S]*?^ *\1.*$/gm, "");
  // a model may also begin anew: the rest has to end what is open
  const isOpen = (text: string, sign: string) => isOdd(text.split(sign).length - 1) && rest.includes(sign);
  if (isOpen(prose, "$$")) return prose.slice(prose.lastIndexOf("$$")) + rest;
  const paragraph = prose.slice(prose.lastIndexOf("\n\n") + 1).trimStart();
  if (paragraph.startsWith("|") && /^.*\|/.test(rest)) {
    const lines = paragraph.split("\n");
    return (lines.length < 3 ? paragraph : [...lines.slice(0, 2), lines.at(-1)].join("\n")) + rest;
  }
  const sign = ["**", "`"].find((it) => isOpen(paragraph, it));
  return sign ? sign + rest.trimStart() : rest;
}

function isOdd(count: number): boolean {
  return count % 2 === 1;
}
