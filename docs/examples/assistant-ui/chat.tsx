import {
  ActionBarPrimitive,
  AssistantRuntimeProvider,
  BranchPickerPrimitive,
  ComposerPrimitive,
  ErrorPrimitive,
  MessagePrimitive,
  type ReasoningMessagePartProps,
  ThreadPrimitive,
  type ToolCallMessagePartProps,
} from "@assistant-ui/react";
import type { UseChatStreamOptions } from "@sluice/react";
import { useSluiceRuntime } from "./sluice-runtime";

/** A chat, inside of a `GatewayProvider`. */
export function Chat(options: UseChatStreamOptions) {
  return (
    <AssistantRuntimeProvider runtime={useSluiceRuntime(options)}>
      <ThreadPrimitive.Root>
        <ThreadPrimitive.Messages components={{ UserMessage, AssistantMessage, UserEditComposer }} />
        <ComposerPrimitive.Root>
          <ComposerPrimitive.Input aria-label="Message" />
          <ComposerPrimitive.Send>Send</ComposerPrimitive.Send>
          <ComposerPrimitive.Cancel>Stop</ComposerPrimitive.Cancel>
        </ComposerPrimitive.Root>
      </ThreadPrimitive.Root>
    </AssistantRuntimeProvider>
  );
}

function UserMessage() {
  return (
    <MessagePrimitive.Root>
      <MessagePrimitive.Parts />
      <ActionBarPrimitive.Edit>Edit</ActionBarPrimitive.Edit>
      <Branches />
    </MessagePrimitive.Root>
  );
}

function AssistantMessage() {
  return (
    <MessagePrimitive.Root>
      <MessagePrimitive.Parts components={{ Reasoning, tools: { Fallback: Tool } }} />
      <MessagePrimitive.Error>
        <ErrorPrimitive.Root>
          <ErrorPrimitive.Message />
        </ErrorPrimitive.Root>
      </MessagePrimitive.Error>
      <ActionBarPrimitive.Reload>Try again</ActionBarPrimitive.Reload>
      <Branches />
    </MessagePrimitive.Root>
  );
}

function Branches() {
  return (
    <BranchPickerPrimitive.Root hideWhenSingleBranch>
      <BranchPickerPrimitive.Previous>Previous</BranchPickerPrimitive.Previous>
      <span>
        <BranchPickerPrimitive.Number /> of <BranchPickerPrimitive.Count />
      </span>
      <BranchPickerPrimitive.Next>Next</BranchPickerPrimitive.Next>
    </BranchPickerPrimitive.Root>
  );
}

function UserEditComposer() {
  return (
    <ComposerPrimitive.Root>
      <ComposerPrimitive.Input aria-label="Edited message" />
      <ComposerPrimitive.Send>Save</ComposerPrimitive.Send>
    </ComposerPrimitive.Root>
  );
}

function Reasoning({ text }: ReasoningMessagePartProps) {
  return <small>{text}</small>;
}

function Tool({ toolName, argsText, approval, respondToApproval }: ToolCallMessagePartProps) {
  const isWaiting = approval && approval.approved === undefined;
  return (
    <p>
      {toolName} {argsText}
      {isWaiting && (
        <button type="button" onClick={() => respondToApproval({ approved: true })}>
          Allow
        </button>
      )}
      {isWaiting && (
        <button type="button" onClick={() => respondToApproval({ approved: false })}>
          Deny
        </button>
      )}
    </p>
  );
}
