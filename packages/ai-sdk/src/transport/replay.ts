import type { UIMessage, UIMessageChunk } from "ai";

/** A part of a message, with optional fields. */
type AnyPart = UIMessage["parts"][number] & {
  readonly toolCallId?: string;
  readonly toolName?: string;
  readonly state?: string;
  readonly input?: unknown;
  readonly output?: unknown;
  readonly errorText?: string;
};

/**
 * Converts the parts of earlier steps to chunks, since the page of a resumed message is empty. The chunks of a tool call
 * do not run it again.
 */
export function* replayParts(parts: UIMessage["parts"]): Generator<UIMessageChunk> {
  for (const [index, part] of (parts as readonly AnyPart[]).entries()) {
    const id = `earlier-${index}`;
    if (part.type === "step-start") yield { type: "start-step" };
    else if (part.type === "text" || part.type === "reasoning") {
      yield { type: `${part.type}-start`, id };
      yield { type: `${part.type}-delta`, id, delta: part.text };
      yield { type: `${part.type}-end`, id };
    } else if (part.type === "file") yield { type: "file", url: part.url, mediaType: part.mediaType };
    else if (part.type.startsWith("data-")) yield part as UIMessageChunk;
    else if (part.toolCallId !== undefined) yield* replayCall(part, part.toolCallId);
  }
}

function* replayCall(part: AnyPart, toolCallId: string): Generator<UIMessageChunk> {
  const dynamic = part.type === "dynamic-tool";
  const toolName = dynamic ? (part.toolName ?? "") : part.type.slice("tool-".length);
  yield { type: "tool-input-start", toolCallId, toolName, ...(dynamic && { dynamic }) };
  yield { type: "tool-input-delta", toolCallId, inputTextDelta: JSON.stringify(part.input ?? {}) };
  if (part.state === "output-available")
    yield { type: "tool-output-available", toolCallId, output: part.output };
  else if (part.state === "output-error")
    yield { type: "tool-output-error", toolCallId, errorText: part.errorText ?? "" };
  else yield { type: "tool-output-denied", toolCallId };
}
