"use client";

import type { ChatMessage, ChatToolCall, UseChatStreamResult } from "@sluice/react";
import { RefreshCw } from "lucide-react";
import type { ReactNode } from "react";
import { AssistantMessage } from "@/components/sluice/answer";
import { Branches } from "@/components/sluice/branches";
import { IconButton, onPressOnce } from "@/components/sluice/button";
import { CopyButton } from "@/components/sluice/copy-button";
import { Elsewhere } from "@/components/sluice/devices";
import { canRetry, Ending, Unanswered } from "@/components/sluice/ending";
import { UserMessage } from "@/components/sluice/message";
import { ToolCallCard } from "@/components/sluice/tool-approval";
import { Pending, Silence } from "@/components/sluice/waiting";
import { chatWords, endingWords } from "@/components/sluice/words";

interface TurnMessages {
  readonly id: string;
  readonly question?: ChatMessage;
  readonly answers: ChatMessage[];
}

/** Groups messages to turns: a question, and the answers to it. */
export function turnsOf(messages: readonly ChatMessage[]): readonly TurnMessages[] {
  const turns: TurnMessages[] = [];
  for (const message of messages) {
    if (message.role === "user") turns.push({ id: message.id, question: message, answers: [] });
    else if (message.role === "assistant") {
      if (turns.length === 0) turns.push({ id: message.id, answers: [] });
      turns.at(-1)?.answers.push(message);
    }
  }
  return turns;
}

export interface ChatTurnProps {
  readonly turn: TurnMessages;
  readonly chat: UseChatStreamResult;
  readonly isLast: boolean;
  /** Shows the text of an answer, for example as Markdown. `isCut` says if it ends before its end. @default as it is */
  readonly renderText?: (text: string, isLive: boolean, isCut: boolean) => ReactNode;
  /** Names of the tools for people. @default their own names */
  readonly toolTitles?: Readonly<Record<string, string>>;
  /** Asks a user for the result of a tool that has no function, and gives it to `answer`. */
  readonly renderTool?: (call: ChatToolCall, answer: (output: unknown) => void) => ReactNode;
  readonly words?: Partial<typeof chatWords>;
}

/** A question, and the answers to it: several where the model calls tools. */
export function ChatTurn(props: ChatTurnProps) {
  const {
    turn: { question, answers },
    chat,
    isLast,
    renderText,
    toolTitles = {},
    renderTool,
  } = props;
  const words = { ...chatWords, ...props.words };
  const { regenerate, edit, switchBranch, approve, deny, retry, send } = chat;
  const isBusy = isLast && (chat.status === "submitted" || chat.status === "streaming");
  const last = answers.at(-1);
  const calls = answers.flatMap(({ toolCalls = [] }) => toolCalls);
  const isOver = last !== undefined && last.outcome !== undefined && !isBusy;
  const versioned = answers.find(({ branches = [] }) => branches.length > 1);
  const text = answers
    .map(({ content }) => content)
    .join("\n\n")
    .trim();
  return (
    <div className="group/turn mx-auto flex w-full max-w-3xl shrink-0 flex-col gap-3 px-4 py-3">
      {question && (
        <UserMessage message={question} isBusy={isBusy} onEdit={edit} onSwitchBranch={switchBranch} />
      )}
      {last && (
        <AssistantMessage
          answers={answers}
          isBusy={isBusy}
          {...(renderText && { renderText })}
          before={calls.map((call) => (
            <ToolCallCard
              key={call.id}
              call={call}
              title={toolTitles[call.name] ?? call.name}
              onApprove={approve}
              onDeny={deny}
            >
              {renderTool?.(call, (output) => void chat.addToolOutput(call.id, output))}
            </ToolCallCard>
          ))}
        >
          <Elsewhere chat={chat} isLast={isLast} />
          {isBusy && (last.content === "" ? <Pending /> : <Silence key={last.content.length} />)}
          {isOver && (
            <Ending
              message={last}
              {...(isLast && { onRetry: retry, onContinue: () => void send(endingWords.continue) })}
            />
          )}
          {isOver && chat.status !== "requires-action" && (
            <div className="-ml-2 flex items-center gap-x-1 text-muted-foreground">
              {versioned && <Branches message={versioned} onSwitch={switchBranch} />}
              {text !== "" && <CopyButton text={text} />}
              {!(isLast && canRetry(last)) && (
                <IconButton
                  label={words.regenerate}
                  disabled={chat.status === "submitted" || chat.status === "streaming"}
                  {...onPressOnce(() => void regenerate(answers[0]?.id))}
                >
                  <RefreshCw aria-hidden />
                </IconButton>
              )}
            </div>
          )}
        </AssistantMessage>
      )}
      {!last && isBusy && <Pending />}
      {!last && !isBusy && isLast && <Unanswered error={chat.error} onRetry={retry} />}
    </div>
  );
}
