import {
  type AnyGatewayError,
  type ChatResult,
  type Client,
  completeChat,
  createVideoTask,
  generateImages,
  isGatewayError,
  type RequestOptions,
  streamChat,
  watchVideoTask,
} from "@sluice/core";
import type { readFaultCases } from "@sluice/emulator/faults";

/** One fault of the emulator. */
export type FaultCase = ReturnType<typeof readFaultCases>[number];
type FaultOutcome = FaultCase["right"][number];

/* The outcome of a fault in Sluice, in the terms of the file of the fault. */

const chat = {
  model: "delta-5.3",
  messages: [{ role: "user", content: "How deep is the Elbe?" }],
} as const;
const image = { model: "gamma-image-5-0-260128", prompt: "A lock on a canal" } as const;
const video = {
  model: "beta3.0-video",
  input: { prompt: "A lock on a canal" },
  parameters: { resolution: "720P", duration: 5 },
} as const;

const operations: Readonly<
  Record<FaultCase["operation"], (client: Client, options: RequestOptions<true>) => Promise<FaultOutcome>>
> = {
  "stream-chat": async (client, options) => describeResult(await streamChat(client, chat, options).result()),
  "complete-chat": async (client, options) => describeResult(await completeChat(client, chat, options)),
  "generate-images": async (client, options) => {
    const { images } = await generateImages(client, image, options);
    return {
      outcome: "complete",
      urls: images.map((image) => ("url" in image ? (image.url ?? null) : null)),
    };
  },
  "watch-video": async (client, options) => {
    const handle = await createVideoTask(client, video, options);
    const { url } = await watchVideoTask(client, handle).result();
    return { outcome: "complete", urls: [url] };
  },
};

/** Runs the operation of a fault with Sluice, whose `baseURL` is the fault. */
export async function observeFault(
  client: Client,
  { operation }: FaultCase,
  options: RequestOptions<true> = {},
): Promise<FaultOutcome> {
  try {
    return await operations[operation](client, options);
  } catch (error) {
    if (!isGatewayError(error)) throw error;
    return describeError(error);
  }
}

/** Returns true if an outcome has every field of a right outcome. */
export function matches(observed: FaultOutcome, right: FaultOutcome): boolean {
  const { words, lesser: _, ...exact } = right;
  if (words !== undefined && !observed.words?.includes(words)) return false;
  return Object.entries(exact).every(
    ([field, value]) => JSON.stringify(observed[field as keyof FaultOutcome]) === JSON.stringify(value),
  );
}

function describeResult({ outcome, message, toolCalls, usage }: ChatResult): FaultOutcome {
  return {
    outcome: outcome as FaultOutcome["outcome"],
    text: message.content ?? "",
    ...(message.reasoning_content && { reasoning: message.reasoning_content }),
    toolCalls: listRunnable(outcome, toolCalls),
    ...(usage && { totalTokens: usage.total_tokens }),
  };
}

/** Returns the calls that the stores would run: none of a response that is not whole, or that has a broken call. */
function listRunnable(
  outcome: string,
  calls: ChatResult["toolCalls"],
): NonNullable<FaultOutcome["toolCalls"]> {
  const parsed = calls.map(({ name, arguments: text, input }) => ({
    name,
    arguments: text.trim() === "" ? {} : input,
  }));
  const isRunnable = outcome === "tool-calls" && parsed.every((call) => call.arguments !== undefined);
  return isRunnable ? parsed : [];
}

function describeError(error: AnyGatewayError): FaultOutcome {
  const kind = findKind(error);
  const partial =
    "partial" in error ? (error.partial as { readonly content?: string | null } | undefined) : undefined;
  return {
    outcome: kind === "truncated" ? "truncated" : "error",
    error: kind,
    ...(error.billing && { billing: error.billing }),
    words: error.message,
    text: partial?.content ?? "",
    toolCalls: [],
  };
}

function findKind(error: AnyGatewayError): NonNullable<FaultOutcome["error"]> {
  switch (error.name) {
    case "APIError":
      if (error.reason === "wrong-address") return "wrong-address";
      return error.status >= 400 && error.status < 500 && error.status !== 408 ? "refused" : "server";
    case "StreamError":
      return error.reason === "server-error"
        ? "server"
        : error.reason === "malformed"
          ? "malformed"
          : "truncated";
    case "ResponseError":
      return "malformed";
    case "TimeoutError":
      return "timeout";
    case "TaskError":
      return error.reason === "no-result" ? "no-result" : "task-failed";
    default:
      return "connection";
  }
}
