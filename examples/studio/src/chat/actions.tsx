import type { ThreadMessage } from "@sluice/core";
import clsx from "clsx";
import { ChevronLeft, ChevronRight, RefreshCw } from "lucide-react";
import { IconButton } from "../ui/button.js";
import { CopyButton } from "../ui/code.js";
import { modelWords } from "./settings.js";
import { useVerbs } from "./use-chat.js";

/** The row of buttons at the end of a turn. */
export function Actions({
  answers,
  isLast,
}: {
  readonly answers: readonly ThreadMessage[];
  readonly isLast: boolean;
}) {
  const { regenerate } = useVerbs();
  const [first] = answers;
  const text = answers
    .map(({ content }) => content)
    .join("\n\n")
    .trim();
  const versioned = answers.find(({ branches = [] }) => branches.length > 1);
  return (
    <div
      className={clsx(
        "-ml-2 flex flex-wrap items-center gap-x-1 text-muted transition-opacity",
        !isLast &&
          "opacity-0 group-focus-within/turn:opacity-100 group-hover/turn:opacity-100 pointer-coarse:opacity-100",
      )}
    >
      {versioned && <Versions message={versioned} />}
      {text !== "" && <CopyButton text={text} />}
      <IconButton label="Regenerate" onClick={() => void regenerate(first?.id)}>
        <RefreshCw aria-hidden />
      </IconButton>
      <Stats answers={answers} />
    </div>
  );
}

/** Arrows between the versions of a message. */
export function Versions({ message }: { readonly message: ThreadMessage }) {
  const { switchBranch } = useVerbs();
  const { id, branches = [id] } = message;
  const index = branches.indexOf(id);
  const show = (at: number) => {
    const version = branches[at];
    if (version !== undefined) switchBranch(version);
  };
  return (
    <div className="flex items-center">
      <IconButton label="Previous version" disabled={index <= 0} onClick={() => show(index - 1)}>
        <ChevronLeft aria-hidden />
      </IconButton>
      <span className="text-xs tabular-nums">
        {index + 1}/{branches.length}
      </span>
      <IconButton
        label="Next version"
        disabled={index >= branches.length - 1}
        onClick={() => show(index + 1)}
      >
        <ChevronRight aria-hidden />
      </IconButton>
    </div>
  );
}

/** Numbers of a turn: they appear with the pointer or the focus, and stay where two models are compared. */
function Stats({ answers }: { readonly answers: readonly ThreadMessage[] }) {
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
