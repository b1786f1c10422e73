import {
  type AppendMessage,
  fromThreadMessageLike,
  MessageNotSentError,
  type ThreadMessage as ShownMessage,
  SimpleImageAttachmentAdapter,
  type ThreadMessageLike,
  useExternalStoreRuntime,
} from "@assistant-ui/react";
import type { Outcome } from "@sluice/core";
import {
  type ChatMessage,
  type ChatToolCall,
  type ChatTurn,
  describeError,
  type UseChatStreamOptions,
  useChatStream,
} from "@sluice/react";
import { useMemo } from "react";

type Part = Exclude<ThreadMessageLike["content"], string>[number];
type Status = NonNullable<ThreadMessageLike["status"]>;
interface Item {
  message: ShownMessage;
  parentId: string | null;
}

/** A runtime of assistant-ui over `useChatStream`, with its options. */
export function useSluiceRuntime(options: UseChatStreamOptions) {
  const chat = useChatStream(options);
  const { messages, error } = chat;
  const thread = chat.getThread();
  const messageRepository = useMemo(() => {
    const items = thread.map(
      ({ message, parentId = null }): Item => ({ message: createShownMessage(message), parentId }),
    );
    const last = messages.at(-1);
    // assistant-ui shows an error only on a response, and a refused request has none
    if (error && !last?.error) items.push(failed(error, last?.id ?? null));
    return { messages: items, headId: error && !last?.error ? FAILED : (last?.id ?? null) };
  }, [thread, messages, error]);
  const isRunning = chat.status === "submitted" || chat.status === "streaming";
  const after = (id: string | null) => messages[messages.findIndex((message) => message.id === id) + 1];

  return useExternalStoreRuntime<ShownMessage>({
    messageRepository,
    isRunning,
    isLoading: chat.persistence?.status === "restoring",
    adapters,
    async onNew(message) {
      giveBackUnsent(await chat.send(...readContent(message)));
    },
    async onEdit(message) {
      const edited = message.sourceId ?? after(message.parentId)?.id;
      if (edited) giveBackUnsent(await chat.edit(edited, ...readContent(message)));
    },
    async onReload(parentId) {
      const reply = after(parentId);
      await (reply ? chat.regenerate(reply.id) : chat.retry());
    },
    async onCancel() {
      chat.stop();
    },
    async onAddToolResult({ toolCallId, result }) {
      await chat.addToolOutput(toolCallId, result);
    },
    async onRespondToToolApproval({ approvalId, approved, reason }) {
      await (approved ? chat.approve(approvalId) : chat.deny(approvalId, reason));
    },
    // assistant-ui reports another branch by its messages; during a response it would take back the question
    ...(!isRunning && {
      setMessages(shown) {
        const other = shown.find(({ id }, at) => id !== messages[at]?.id);
        if (other) chat.switchBranch(other.id);
      },
    }),
  });
}

const adapters = { attachments: new SimpleImageAttachmentAdapter() };

/** A question that is not in the chat comes back to its field, with its images. */
function giveBackUnsent({ outcome, messages }: ChatTurn): void {
  if (outcome === "not-sent" && messages.length === 0) throw new MessageNotSentError();
}

/** Text and images of a message that the user has written. */
function readContent({ content, attachments = [] }: AppendMessage): [string, { images: string[] }] {
  const parts = [...content, ...attachments.flatMap((attachment) => attachment.content)];
  const images = parts.flatMap((part) => (part.type === "image" ? [part.image] : []));
  return [parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n"), { images }];
}

const shown = new WeakMap<ChatMessage, ShownMessage>();

/** Converts each message once: an unchanged message keeps its object. */
function createShownMessage(message: ChatMessage): ShownMessage {
  const known =
    shown.get(message) ?? fromThreadMessageLike(createMessageLike(message), message.id, { type: "running" });
  shown.set(message, known);
  return known;
}

function createMessageLike(message: ChatMessage): ThreadMessageLike {
  const { id, role, content, images = [], files = [], reasoning, toolCalls = [] } = message;
  const common = { id, role, createdAt: new Date(message.createdAt ?? 0), metadata: { custom: { message } } };
  if (role !== "assistant")
    return {
      ...common,
      content,
      attachments: images.map((image, nth) => ({
        id: `${id}/${nth}`,
        type: "image",
        name: `image ${nth + 1}`,
        status: { type: "complete" },
        content: [{ type: "image", image }],
      })),
    };
  const parts: Part[] = [
    ...(reasoning ? [{ type: "reasoning" as const, text: reasoning }] : []),
    { type: "text", text: content },
    ...toolCalls.map(createToolPart),
    ...images.map((image) => ({ type: "image" as const, image })),
    ...files.map(({ url, type }) => ({ type: "file" as const, data: url, mimeType: type })),
  ];
  return { ...common, content: parts, status: readStatus(message) };
}

function createToolPart({ id, name, arguments: argsText, input, state, output, error }: ChatToolCall): Part {
  return {
    type: "tool-call",
    toolCallId: id,
    toolName: name,
    argsText,
    args: (input ?? {}) as Extract<Part, { type: "tool-call" }>["args"] & object,
    ...(state === "done" && { result: output }),
    ...(error !== undefined && { result: error, isError: true }),
    ...(state === "needs-approval" && { approval: { id } }),
    ...(state === "denied" && { approval: { id, approved: false } }),
  };
}

const reasons: Partial<Record<Outcome, "cancelled" | "length" | "content-filter">> = {
  stopped: "cancelled",
  length: "length",
  "content-filter": "content-filter",
};

function readStatus({ outcome, error, toolCalls = [] }: ChatMessage): Status {
  if (outcome === undefined) return { type: "running" };
  if (error) return { type: "incomplete", reason: "error", error: describeError(error).title };
  if (outcome === "complete") return { type: "complete", reason: "stop" };
  if (outcome !== "tool-calls") return { type: "incomplete", reason: reasons[outcome] ?? "other" };
  const states = new Set(toolCalls.map(({ state }) => state));
  if (states.has("needs-approval") || states.has("needs-output"))
    return { type: "requires-action", reason: states.has("needs-approval") ? "interrupt" : "tool-calls" };
  return states.has("running") ? { type: "running" } : { type: "complete", reason: "unknown" };
}

const FAILED = "failed";

function failed(error: Error, parentId: string | null): Item {
  const status = { type: "incomplete", reason: "error", error: describeError(error).title } as const;
  return {
    message: fromThreadMessageLike({ id: FAILED, role: "assistant", content: [], status }, FAILED, status),
    parentId,
  };
}
