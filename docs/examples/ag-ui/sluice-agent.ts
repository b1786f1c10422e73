import { AbstractAgent, type AGUIEvent, EventType, type RunAgentInput } from "@ag-ui/client";
import {
  type ChatDelta,
  type ChatRequest,
  type ChatRequestMessage,
  type ChatStream,
  type Client,
  resumeChat,
  streamChat,
} from "@sluice/core";
import { describeError } from "@sluice/react";
import { Observable } from "rxjs";

type UserContent = Extract<RunAgentInput["messages"][number], { role: "user" }>["content"];
type Part = Exclude<UserContent, string>[number];
type ChatContentPart = Extract<ChatRequestMessage["content"], readonly unknown[]>[number];

export class SluiceAgent extends AbstractAgent {
  /** Id of the newest response, if the proxy stores responses. Store it with the thread for `connectAgent`. */
  streamId: string | undefined;
  private stream: ChatStream | undefined;

  constructor(
    readonly client: Client,
    readonly model: ChatRequest["model"],
  ) {
    super();
  }

  run(input: RunAgentInput) {
    return this.read(input, () => streamChat(this.client, createRequest(this.model, input)));
  }

  protected override connect(input: RunAgentInput) {
    const { client, streamId } = this;
    return streamId ? this.read(input, () => resumeChat(client, streamId)) : super.connect(input);
  }

  override abortRun() {
    this.stream?.abort();
    super.abortRun();
  }

  override clone() {
    const { messages, threadId, state, streamId } = this;
    const copy = new SluiceAgent(this.client, this.model);
    return Object.assign(copy, { messages: structuredClone(messages), threadId, state, streamId });
  }

  private read({ threadId, runId }: RunAgentInput, open: () => ChatStream) {
    return new Observable<AGUIEvent>((out) => {
      const stream = open();
      this.stream = stream;
      out.next({ type: EventType.RUN_STARTED, threadId, runId });
      const translate = translator(crypto.randomUUID());
      const emit = (delta?: ChatDelta) => {
        this.streamId = stream.streamId ?? this.streamId;
        for (const event of translate(delta)) out.next(event);
      };
      const all = async () => {
        for await (const delta of stream) emit(delta);
        const { model, usage } = await stream.result();
        emit();
        const { prompt_tokens: inputTokens, completion_tokens: outputTokens } = usage ?? {};
        const tokens = usage && { usage: [{ model: model ?? this.model, inputTokens, outputTokens }] };
        out.next({ type: EventType.RUN_FINISHED, threadId, runId, ...tokens });
      };
      const fail = (error: Error) => {
        emit();
        if (error.name === "AbortError")
          out.next({ type: EventType.RUN_FINISHED, threadId, runId, outcome: { type: "cancelled" } });
        else out.next({ type: EventType.RUN_ERROR, message: describeError(error).title, code: error.name });
      };
      void all()
        .catch(fail)
        .then(() => out.complete());
      return () => stream.abort();
    });
  }
}

/** Returns the events of a delta; without a delta, the events that end open messages and calls. */
function translator(messageId: string) {
  const thoughtId = `${messageId}-thinking`;
  const calls = new Map<number, string>();
  let open: "text" | "thinking" | undefined;
  const show = (next: typeof open): AGUIEvent[] => {
    if (next === open) return [];
    const ended: AGUIEvent[] =
      open === "text"
        ? [{ type: EventType.TEXT_MESSAGE_END, messageId }]
        : open === "thinking"
          ? [
              { type: EventType.REASONING_MESSAGE_END, messageId: thoughtId },
              { type: EventType.REASONING_END, messageId: thoughtId },
            ]
          : [];
    const begun: AGUIEvent[] =
      next === "text"
        ? [{ type: EventType.TEXT_MESSAGE_START, messageId, role: "assistant" }]
        : next === "thinking"
          ? [
              { type: EventType.REASONING_START, messageId: thoughtId },
              { type: EventType.REASONING_MESSAGE_START, messageId: thoughtId, role: "reasoning" },
            ]
          : [];
    open = next;
    return [...ended, ...begun];
  };

  return (delta: ChatDelta | undefined): AGUIEvent[] => {
    switch (delta?.type) {
      case undefined:
        return show(undefined);
      case "text-delta":
        return [...show("text"), { type: EventType.TEXT_MESSAGE_CONTENT, messageId, delta: delta.text }];
      case "reasoning-delta":
        return [
          ...show("thinking"),
          { type: EventType.REASONING_MESSAGE_CONTENT, messageId: thoughtId, delta: delta.text },
        ];
      case "tool-call-start": {
        const { id: toolCallId, name: toolCallName } = delta;
        calls.set(delta.index, toolCallId);
        return [
          ...show(undefined),
          { type: EventType.TOOL_CALL_START, toolCallId, toolCallName, parentMessageId: messageId },
        ];
      }
      case "tool-call-delta": {
        const toolCallId = calls.get(delta.index) ?? "";
        return [{ type: EventType.TOOL_CALL_ARGS, toolCallId, delta: delta.arguments }];
      }
      case "tool-call":
        return [{ type: EventType.TOOL_CALL_END, toolCallId: delta.toolCall.id }];
      default:
        return [];
    }
  };
}

function createRequest(
  model: ChatRequest["model"],
  { messages, tools, context }: RunAgentInput,
): ChatRequest {
  const known = context.map(({ description, value }) => `${description}: ${value}`).join("\n");
  const functions = tools.map(({ name, description, parameters = { type: "object" } }) => ({
    type: "function" as const,
    function: { name, description, parameters },
  }));
  return {
    model,
    messages: [...(known ? [{ role: "system" as const, content: known }] : []), ...createMessages(messages)],
    ...(functions.length > 0 && { tools: functions }),
  } as ChatRequest;
}

function createMessages(messages: RunAgentInput["messages"]): ChatRequestMessage[] {
  let thinking = "";
  return messages.flatMap((message): ChatRequestMessage[] => {
    switch (message.role) {
      case "reasoning":
        thinking += message.content;
        return [];
      case "assistant": {
        const { content = null, toolCalls } = message;
        // the gateway demands its thinking back between tool calls, unchanged
        const thought = thinking && toolCalls?.length ? { reasoning_content: thinking } : {};
        thinking = "";
        return [
          {
            role: "assistant",
            content: content || null,
            ...(toolCalls?.length && { tool_calls: toolCalls }),
            ...thought,
          },
        ];
      }
      case "tool":
        return [{ role: "tool", tool_call_id: message.toolCallId, content: readText(message.content) }];
      case "user":
        return [{ role: "user", content: createParts(message.content) }];
      case "system":
      case "developer":
        return [{ role: "system", content: readText(message.content) }];
      default:
        return [];
    }
  });
}

const readText = (content: UserContent) =>
  typeof content === "string"
    ? content
    : content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");

function createParts(content: UserContent) {
  return typeof content === "string" ? content : content.flatMap(createPart);
}

function createPart(part: Part): ChatContentPart[] {
  if (part.type === "text") return [{ type: "text", text: part.text }];
  if (part.type !== "image" || part.source.type === "file") return [];
  const { source } = part;
  const url = source.type === "url" ? source.value : `data:${source.mimeType};base64,${source.value}`;
  return [{ type: "image_url", image_url: { url } }];
}
