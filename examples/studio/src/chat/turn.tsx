import { calculateCost } from "@sluice/prices";
import type { ChatMessage } from "@sluice/react";
import clsx from "clsx";
import { RefreshCw } from "lucide-react";
import { memo, useEffect, useRef, useState } from "react";
import { AssistantMessage } from "@/components/sluice/answer";
import { Branches } from "@/components/sluice/branches";
import { IconButton, onPressOnce } from "@/components/sluice/button";
import { CopyButton } from "@/components/sluice/copy-button";
import { AnswerSource } from "@/components/sluice/devices";
import { canRetry } from "@/components/sluice/ending";
import { UserMessage } from "@/components/sluice/message";
import { soon } from "@/components/sluice/soon";
import { isAsking } from "@/components/sluice/steps";
import { Silence } from "@/components/sluice/waiting";
import { prices } from "../costs.js";
import { later } from "../ui/later.js";
import { costWords, sourceWords } from "../words.js";
import { CONTINUE, type TurnMessages, useVerbs } from "./chat.js";
import { AnswerEnding, AnswerSteps, NoAnswer, Waiting } from "./ending.js";
import { modelWords } from "./settings.js";

const Markdown = later(async () => (await import("./diagram.js")).Markdown);
// before the first answer comes
void Markdown.preload();

interface TurnProps {
  readonly turn: TurnMessages;
  readonly isLast: boolean;
  /** Says if this turn is in flight in this tab. */
  readonly isBusy: boolean;
  /** Error of the turn that has no answer. */
  readonly error: Error | undefined;
}

/** One turn. A turn that did not change does not render again; one that is far away is not laid out. */
export const Turn = memo(function Turn({ turn, isLast, isBusy, error }: TurnProps) {
  const { question, answers } = turn;
  const { ref, isNear } = useNear<HTMLDivElement>(isLast);
  return (
    <div
      ref={ref}
      data-turn={turn.id}
      className={clsx(
        "group/turn mx-auto flex w-full max-w-3xl shrink-0 flex-col gap-3 px-4 py-3 [contain-intrinsic-size:auto_24rem]",
        !isLast && "[content-visibility:auto]",
      )}
    >
      {question && <Question message={question} isBusy={isBusy} />}
      {answers.length > 0 && <Answer turn={turn} isLast={isLast} isBusy={isBusy} isNear={isNear} />}
      {answers.length === 0 && isBusy && <Waiting />}
      {answers.length === 0 && !isBusy && isLast && <NoAnswer question={question} error={error} />}
    </div>
  );
}, isSame);

function isSame(one: TurnProps, other: TurnProps): boolean {
  const { turn } = one;
  return (
    one.isLast === other.isLast &&
    one.isBusy === other.isBusy &&
    one.error === other.error &&
    turn.text === other.turn.text &&
    turn.question === other.turn.question &&
    turn.answers.length === other.turn.answers.length &&
    turn.answers.every((answer, index) => answer === other.turn.answers[index])
  );
}

interface QuestionProps {
  readonly message: ChatMessage;
  readonly isBusy: boolean;
}

/** A message of the user. One that asks for the rest of an answer is a word. */
function Question({ message, isBusy }: QuestionProps) {
  const { edit, switchBranch } = useVerbs();
  return (
    <UserMessage message={message} isBusy={isBusy} onEdit={edit} onSwitchBranch={switchBranch}>
      {message.content === CONTINUE && <p className="text-xs text-muted">Continue</p>}
    </UserMessage>
  );
}

interface AnswerProps {
  readonly turn: TurnMessages;
  readonly isLast: boolean;
  readonly isBusy: boolean;
  readonly isNear: boolean;
}

/** The answers of a turn: its steps in one box, the text, and one row of actions. */
function Answer({ turn: { answers, text }, isLast, isBusy, isNear }: AnswerProps) {
  const last = answers.at(-1) as ChatMessage;
  const isInFlight = last.outcome === undefined;
  const isElsewhere = isInFlight && !isBusy;
  const isSilent = isBusy && last.content === "" && !last.reasoning && !last.toolCalls?.length;
  // an answer that began before this page was loaded
  const isResumed =
    isBusy && isInFlight && (last.createdAt ?? Number.POSITIVE_INFINITY) < performance.timeOrigin;
  const source = sourceWords({ isResumed, isElsewhere });
  const { stopElsewhere } = useVerbs();
  const hasCalls = Boolean(last.toolCalls?.length);
  return (
    <AssistantMessage
      answers={answers}
      isBusy={isBusy}
      before={<AnswerSteps answers={answers} isBusy={isBusy} />}
      renderText={() => (
        <Prose
          text={text}
          isLive={isInFlight}
          isCut={!isInFlight && last.outcome !== "complete"}
          isNear={isNear}
        />
      )}
    >
      {source && (
        <AnswerSource isLive text={source} onStop={isElsewhere && isLast ? stopElsewhere : undefined} />
      )}
      {isSilent && <Waiting model={last.model} />}
      {isBusy && isInFlight && !isSilent && !hasCalls && (
        <Silence key={last.content.length + (last.reasoning?.length ?? 0)} />
      )}
      {!isBusy && !isElsewhere && <AnswerEnding message={last} isLast={isLast} />}
      {!isBusy && !isElsewhere && !isAsking(answers) && <Actions answers={answers} isLast={isLast} />}
    </AssistantMessage>
  );
}

interface ProseProps {
  readonly text: string;
  readonly isLive: boolean;
  readonly isCut: boolean;
  readonly isNear: boolean;
}

/** Beginning of a text that is JSON and nothing else. */
const JSON_START = /^\s*(?:\{\s*["}]|\[\s*[\]["{])/;

/** An answer's text: plain where it is far away or Markdown is still loading. */
function Prose({ text, isLive, isCut, isNear }: ProseProps) {
  const plain = (
    <p dir="auto" className="whitespace-pre-wrap">
      {text}
    </p>
  );
  if (!isNear) return plain;
  const shown = JSON_START.test(text) ? `\`\`\`json\n${text}` : text;
  return <Markdown text={shown} isLive={isLive} isCut={isCut} fallback={plain} />;
}

/** The row of buttons at the end of a turn. */
function Actions({
  answers,
  isLast,
}: {
  readonly answers: readonly ChatMessage[];
  readonly isLast: boolean;
}) {
  const { regenerate, switchBranch } = useVerbs();
  const [first] = answers;
  const text = answers
    .map(({ content }) => content)
    .join("\n\n")
    .trim();
  const last = answers.at(-1);
  const hasOther = isLast && last !== undefined && canRetry(last);
  const versioned = answers.find(({ branches = [] }) => branches.length > 1);
  return (
    <div
      className={clsx(
        "-ml-2 flex flex-wrap items-center gap-x-1 text-muted transition-opacity",
        !isLast &&
          "opacity-0 group-focus-within/turn:opacity-100 group-hover/turn:opacity-100 pointer-coarse:opacity-100",
      )}
    >
      {versioned && <Branches message={versioned} onSwitch={switchBranch} />}
      {text !== "" && <CopyButton text={text} />}
      {!hasOther && (
        <IconButton label="Regenerate" {...onPressOnce(() => void regenerate(first?.id))}>
          <RefreshCw aria-hidden />
        </IconButton>
      )}
      <Stats answers={answers} />
    </div>
  );
}

/** Numbers of a turn: they appear with the pointer or the focus, and stay where two models are compared. */
function Stats({ answers }: { readonly answers: readonly ChatMessage[] }) {
  const last = answers.at(-1);
  const { firstTokenMs } = answers[0]?.timing ?? {};
  const totalMs = sum(answers.map(({ timing }) => timing?.totalMs));
  const tokens = sum(answers.map(({ usage }) => usage?.completion_tokens));
  const facts = [
    last?.model && (modelWords[last.model as keyof typeof modelWords]?.name ?? last.model),
    firstTokenMs !== undefined && `first token ${seconds(firstTokenMs)}`,
    last?.timing?.tokensPerSecond !== undefined && `${Math.round(last.timing.tokensPerSecond)} tokens/s`,
    tokens > 0 && `${tokens} tokens`,
    totalMs > 0 && seconds(totalMs),
    costWords(calculateCost(answers, prices)),
  ].filter((fact) => typeof fact === "string");
  return (
    <ul
      aria-label="Statistics"
      className="flex flex-wrap gap-x-2 px-2 text-xs opacity-0 transition-opacity group-focus-within/turn:opacity-100 group-hover/turn:opacity-100 pointer-coarse:opacity-100 in-[.compare]:opacity-100"
    >
      {facts.map((fact) => (
        <li key={fact}>{fact}</li>
      ))}
    </ul>
  );
}

function sum(numbers: readonly (number | undefined)[]): number {
  return numbers.reduce<number>((total, number) => total + (number ?? 0), 0);
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`;
}

/** Distance to the visible part at which a turn is rendered in full. */
const MARGIN = "800px 0px";

/** Says if an element is or was near the visible part of the log. `isNearAtFirst` is for those that are there at once. */
function useNear<Target extends Element>(isNearAtFirst: boolean) {
  const ref = useRef<Target>(null);
  const [isNear, setIsNear] = useState(isNearAtFirst);
  useEffect(() => {
    if (isNear || !ref.current) return;
    const observer = new IntersectionObserver(
      (entries) => {
        if (entries.some(({ isIntersecting }) => isIntersecting)) soon(() => setIsNear(true));
      },
      { root: ref.current.closest('[role="log"]'), rootMargin: MARGIN },
    );
    observer.observe(ref.current);
    return () => observer.disconnect();
  }, [isNear]);
  return { ref, isNear };
}
