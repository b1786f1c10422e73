import { useStore } from "@nanostores/react";
import { retryNow } from "@sluice/core";
import type { ChatMessage, ChatToolCall } from "@sluice/react";
import { Button, Chip, onPressOnce } from "@/components/sluice/button";
import { Ending, Unanswered } from "@/components/sluice/ending";
import { Steps } from "@/components/sluice/steps";
import { Pending, Retrying } from "@/components/sluice/waiting";
import { client } from "../client.js";
import { useDescribe, useDescription } from "../errors.js";
import { calls } from "../inspector/feed.js";
import { later } from "../ui/later.js";
import { CONTINUE, isWaitingForNetwork, useVerbs } from "./chat.js";
import { changeSettings, modelWords, toolTitles } from "./settings.js";

const Markdown = later(async () => (await import("./diagram.js")).Markdown);

interface AnswerEndingProps {
  readonly message: ChatMessage;
  readonly isLast: boolean;
}

/** The end of an answer that is not whole. The rest of one with too many steps comes with a retry. */
export function AnswerEnding({ message, isLast }: AnswerEndingProps) {
  const { send, retry } = useVerbs();
  const describe = useDescribe();
  if (!isLast) return <Ending message={message} describe={describe} />;
  return (
    <Ending
      message={message}
      onRetry={retry}
      onContinue={() => (message.outcome === "step-limit" ? retry() : send(CONTINUE))}
      describe={describe}
      switchModel={<SwitchModel onRetry={retry} />}
    />
  );
}

interface NoAnswerProps {
  readonly question: ChatMessage | undefined;
  readonly error: Error | undefined;
}

/** The place of an answer that never began. */
export function NoAnswer({ question, error }: NoAnswerProps) {
  const { retry } = useVerbs();
  const describe = useDescribe({ isWaiting: isWaitingForNetwork(question, error) });
  return (
    <Unanswered
      error={error}
      onRetry={retry}
      describe={describe}
      switchModel={<SwitchModel onRetry={retry} />}
    />
  );
}

/** Chooses the model that takes everything, and asks again. */
function SwitchModel({ onRetry }: { readonly onRetry: () => unknown }) {
  return (
    <Button
      {...onPressOnce(() => {
        changeSettings({ model: "alpha-v4.1-flash" });
        // after the render that has the new model
        setTimeout(onRetry);
      })}
    >
      Switch to {modelWords["alpha-v4.1-flash"].name}
    </Button>
  );
}

/** The wait for the first word, and for the next attempt of a request that failed. */
export function Waiting({ model }: { readonly model?: string | undefined }) {
  const wait = useStore(calls).find((call) => call.kind === "chat" && (!model || call.model === model));
  const step = wait?.steps.at(-1);
  const { title } = useDescription(step?.type === "retry" ? step.error : undefined);
  if (wait && step?.type === "retry")
    return (
      <Retrying title={title} at={step.at + step.delayMs} onRetryNow={() => retryNow(client, wait.callId)} />
    );
  return <Pending />;
}

interface AnswerStepsProps {
  readonly answers: readonly ChatMessage[];
  readonly isBusy: boolean;
}

/** The thinking and the tool calls of a turn. */
export function AnswerSteps({ answers, isBusy }: AnswerStepsProps) {
  const { approve, deny } = useVerbs();
  return (
    <Steps
      answers={answers}
      isBusy={isBusy}
      toolTitles={toolTitles}
      onApprove={approve}
      onDeny={deny}
      renderText={(text, isLive) => <Markdown text={text} isLive={isLive} />}
      renderTool={(call) => <Answering call={call} />}
    />
  );
}

const colors = [
  { name: "reed", hex: "#6f8f3a", swatch: "bg-[#6f8f3a]" },
  { name: "current", hex: "#0b7a72", swatch: "bg-[#0b7a72]" },
  { name: "dusk", hex: "#4a5fa8", swatch: "bg-[#4a5fa8]" },
  { name: "heather", hex: "#9a5c9c", swatch: "bg-[#9a5c9c]" },
  { name: "brick", hex: "#b3402f", swatch: "bg-[#b3402f]" },
  { name: "sand", hex: "#d1a85a", swatch: "bg-[#d1a85a]" },
] as const;

/** The answer to `pick_color`. A tool without a card of its own is answered with nothing. */
function Answering({ call }: { readonly call: ChatToolCall }) {
  const { addToolOutput } = useVerbs();
  if (call.name !== "pick_color")
    return <Button {...onPressOnce(() => void addToolOutput(call.id, null))}>Skip</Button>;
  return (
    <div className="flex flex-wrap gap-2">
      {colors.map(({ name, hex, swatch }) => (
        <Chip key={name} {...onPressOnce(() => void addToolOutput(call.id, { name, hex }))}>
          <span aria-hidden className={`size-4 rounded-full ${swatch}`} />
          {name}
        </Chip>
      ))}
      <Chip {...onPressOnce(() => void addToolOutput(call.id, { name: "none" }))}>No color</Chip>
    </div>
  );
}
