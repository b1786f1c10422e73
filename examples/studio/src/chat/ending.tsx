import { useStore } from "@nanostores/react";
import type { ThreadMessage } from "@sluice/core";
import { Ending, Unanswered } from "@/components/sluice/ending";
import { Pending, Retrying } from "@/components/sluice/waiting";
import { client } from "../client.js";
import { useDescribe, useDescription } from "../errors.js";
import { calls } from "../inspector/feed.js";
import { Button, onPressOnce } from "../ui/button.js";
import { CONTINUE, isWaitingForNetwork, useVerbs } from "./chat.js";
import { changeSettings, modelWords } from "./settings.js";

interface AnswerEndingProps {
  readonly message: ThreadMessage;
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
  readonly question: ThreadMessage | undefined;
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
      <Retrying title={title} at={step.at + step.delayMs} onRetryNow={() => client.retryNow(wait.callId)} />
    );
  return <Pending />;
}
