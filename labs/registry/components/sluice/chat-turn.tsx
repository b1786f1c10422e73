"use client";

import type { ChatMessage, ChatToolCall, ErrorDescription, UseChatStreamResult } from "@sluice/react";
import { RefreshCw } from "lucide-react";
import { memo, type ReactNode, useEffect, useRef, useState } from "react";
import { AssistantMessage } from "@/components/sluice/assistant-message";
import { Branches } from "@/components/sluice/branches";
import { Button, IconButton, onPressOnce } from "@/components/sluice/button";
import { CopyButton } from "@/components/sluice/copy-button";
import { Elsewhere } from "@/components/sluice/devices";
import { canRetry, Ending, FailedReply } from "@/components/sluice/ending";
import { formatModel } from "@/components/sluice/format";
import { UserMessage } from "@/components/sluice/message";
import { runSoon } from "@/components/sluice/soon";
import { Steps, type StepsProps } from "@/components/sluice/steps";
import type { TurnMessages } from "@/components/sluice/turns";
import { Pending, Silence } from "@/components/sluice/waiting";
import { chatWords, endingWords } from "@/components/sluice/words";
import { cn } from "@/lib/utils";

export interface ChatTurnProps {
  readonly turn: TurnMessages;
  readonly chat: UseChatStreamResult;
  readonly isLast: boolean;
  /**
   * Shows the text of a response, for example as Markdown. `isCut` is true if the response broke off. Define it outside
   * of components: a turn renders again when it changes. @default plain text
   */
  readonly renderText?: (text: string, isLive: boolean, isCut: boolean) => ReactNode;
  /** Names of the tools for people. @default their own names */
  readonly toolTitles?: Readonly<Record<string, string>>;
  /** Estimates the cost of a call before the user approves it. */
  readonly estimateTool?: StepsProps["estimateTool"];
  /** Asks the user for the result of a tool without a function, and passes it to `respond`. */
  readonly renderTool?: (call: ChatToolCall, respond: (output: unknown) => void) => ReactNode;
  /** Words of an error. @default `describeError` */
  readonly describe?: ((error: Error) => ErrorDescription) | undefined;
  /** Shows the details of a response, for example its call in developer tools. @default no button for it */
  readonly onDetails?: ((messageId: string) => void) | undefined;
  /** Id of the message to scroll to and to mark, for example the target of a link. @default none */
  readonly markedId?: string | undefined;
}

/** A question, and the responses to it: several where the model calls tools. A turn far from the window is plain text. */
export const ChatTurn = memo(function ChatTurn(props: ChatTurnProps) {
  const {
    turn: { question, replies },
    chat,
    isLast,
    toolTitles = {},
    estimateTool,
    renderTool,
    describe,
    onDetails,
    markedId,
  } = props;
  const { ref, isNear } = useNear(isLast);
  const isMarked =
    markedId !== undefined && [question, ...replies].some((message) => message?.id === markedId);
  useEffect(() => {
    if (isMarked) ref.current?.scrollIntoView({ block: "start" });
  }, [isMarked, ref]);
  const renderText = isNear ? props.renderText : undefined;
  const { regenerate, edit, switchBranch, approve, deny, retry, send } = chat;
  const isBusy = isLast && isStreaming(chat);
  const last = replies.at(-1);
  const hasEnded = last !== undefined && last.outcome !== undefined && !isBusy;
  const branched = replies.find(({ branches = [] }) => branches.length > 1);
  const text = replies
    .map(({ content }) => content)
    .join("\n\n")
    .trim();
  return (
    <div
      ref={ref}
      aria-current={isMarked || undefined}
      className={cn(
        "mx-auto flex w-full max-w-3xl shrink-0 flex-col gap-3 px-4 py-3 [contain-intrinsic-size:auto_24rem]",
        !isLast && "[content-visibility:auto]",
        isMarked && "rounded-xl outline-2 -outline-offset-2 outline-warning",
      )}
    >
      {question && (
        <UserMessage message={question} isBusy={isBusy} onEdit={edit} onSwitchBranch={switchBranch} />
      )}
      {last && (
        <AssistantMessage
          replies={replies}
          isBusy={isBusy}
          {...(renderText && { renderText })}
          before={
            <Steps
              replies={replies}
              isBusy={isBusy}
              toolTitles={toolTitles}
              onApprove={approve}
              onDeny={deny}
              {...(estimateTool && { estimateTool })}
              {...(renderText && { renderText: (text, isLive) => renderText(text, isLive, false) })}
              {...(renderTool && {
                renderTool: (call) => renderTool(call, (output) => void chat.addToolOutput(call.id, output)),
              })}
            />
          }
        >
          {isLast && <Elsewhere chat={chat} />}
          {isBusy && (
            // as high as the line of buttons that follows
            <div className="min-h-8 pointer-coarse:min-h-11">
              {last.content === "" ? <Pending /> : <Silence key={last.content.length} />}
            </div>
          )}
          {hasEnded && (
            <Ending
              message={last}
              describe={describe}
              {...(isLast && { onRetry: retry, onContinue: () => void send(endingWords.continue) })}
            />
          )}
          {hasEnded && chat.status !== "requires-action" && (
            <div className="-ms-2 flex items-center gap-x-1 text-muted-foreground">
              {branched && <Branches message={branched} onSwitch={switchBranch} />}
              {text !== "" && <CopyButton text={text} />}
              {!(isLast && canRetry(last)) && (
                <IconButton
                  label={chatWords.regenerate}
                  disabled={isStreaming(chat)}
                  {...onPressOnce(() => void regenerate(replies[0]?.id))}
                >
                  <RefreshCw aria-hidden />
                </IconButton>
              )}
              {onDetails ? (
                <Button
                  variant="quiet"
                  data-tip={chatWords.details}
                  className="px-2 text-xs font-normal"
                  onClick={() => onDetails(last.id)}
                >
                  {describeTurn(replies)}
                </Button>
              ) : (
                <span className="px-2 text-xs">{describeTurn(replies)}</span>
              )}
            </div>
          )}
        </AssistantMessage>
      )}
      {!last && isBusy && <Pending />}
      {!last && !isBusy && isLast && <FailedReply error={chat.error} onRetry={retry} describe={describe} />}
    </div>
  );
}, isSameTurn);

/** Compares an earlier turn by its messages. The last turn also shows the state of the chat. */
function isSameTurn(previous: ChatTurnProps, next: ChatTurnProps): boolean {
  return (
    !previous.isLast &&
    !next.isLast &&
    previous.renderText === next.renderText &&
    previous.markedId === next.markedId &&
    isStreaming(previous.chat) === isStreaming(next.chat) &&
    previous.turn.question === next.turn.question &&
    previous.turn.replies.length === next.turn.replies.length &&
    previous.turn.replies.every((reply, index) => reply === next.turn.replies[index])
  );
}

function isStreaming({ status }: Pick<UseChatStreamResult, "status">): boolean {
  return status === "submitted" || status === "streaming";
}

/** Returns the model of a turn and its time: `Delta 5.3 · 2.1 s`. */
function describeTurn(replies: readonly ChatMessage[]): string {
  const model = replies.at(-1)?.model;
  const ms = replies.reduce((sum, { timing }) => sum + (timing?.totalMs ?? 0), 0);
  return [model && formatModel(model), ms > 0 && `${(ms / 1000).toFixed(1)} s`].filter(Boolean).join(" · ");
}

/** Distance to the window at which a turn renders in full. */
const MARGIN = "800px 0px";

/** Returns true once an element has come near the visible part of its log. */
function useNear(isNearAtFirst: boolean) {
  const ref = useRef<HTMLDivElement>(null);
  const [isNear, setIsNear] = useState(isNearAtFirst);
  useEffect(() => {
    if (isNear || !ref.current) return;
    const observer = new IntersectionObserver(
      (entries) => {
        if (entries.some(({ isIntersecting }) => isIntersecting)) runSoon(() => setIsNear(true));
      },
      { root: ref.current.closest('[role="log"]'), rootMargin: MARGIN },
    );
    observer.observe(ref.current);
    return () => observer.disconnect();
  }, [isNear]);
  return { ref, isNear };
}
