import {
  type ClientOptions,
  completeChat,
  createClient,
  createVideoTask,
  isGatewayError,
  streamChat,
} from "@sluice/core";

/** A request to a server under fire, as JSON: a page gets it, too. */
export interface RunOptions {
  readonly baseURL: string;
  readonly apiKey: string;
  readonly call: "stream" | "complete" | "create";
  readonly timeout?: ClientOptions["timeout"];
  /** Number of repeated attempts. @default 0 */
  readonly retries?: number | undefined;
  /** Number of characters of the question. @default 2 */
  readonly length?: number | undefined;
  /** Address that is fetched as soon as a part of the response has come. */
  readonly seen?: string | undefined;
  /** A timeout that ends after this address has responded. */
  readonly over?: { readonly ms: number; readonly at: string } | undefined;
}

/** The end of a call, as JSON. */
export interface RunResult {
  /** Outcome of a turn, `created`, or the name of the error. */
  readonly end: string;
  /** The text of the response, or the part of the text in the error. */
  readonly text: string;
  /** The reason, the phase or the status of an error. */
  readonly detail?: string | number | undefined;
  readonly billing?: string | undefined;
  readonly message?: string | undefined;
  /** All that an app could print of the error and its causes. */
  readonly printed: string;
}

/** Sends one request, and returns how it ended. */
export async function runRequest({
  baseURL,
  apiKey,
  call,
  timeout,
  retries = 0,
  length = 2,
  seen,
  over,
}: RunOptions) {
  const client = createClient({
    baseURL,
    apiKey,
    dangerouslyAllowBrowser: true,
    timeout: { ...timeout },
    retry: { limit: retries },
    random: () => 0,
    onEvent: () => {},
    ...(over && { clock: { now: () => performance.now(), sleep } }),
  });
  const request = {
    model: "delta-5.3",
    messages: [{ role: "user", content: "?".repeat(length) }],
  } as const;
  try {
    return await run();
  } catch (error) {
    return describeFailure(error);
  }

  async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
    // a limit counts one task after its end: a wait of 0
    if (ms === 0) return;
    if (over && ms === over.ms) return await arrivedAt(over.at, signal);
    return new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
  }

  async function run(): Promise<RunResult> {
    if (call === "create") {
      await createVideoTask(client, { model: "beta3.0-video", input: { prompt: "A reef" } });
      return { end: "created", text: "", printed: "" };
    }
    if (call === "complete") return describeResult(await completeChat(client, request));
    const stream = streamChat(client, request);
    for await (const delta of stream) if (seen && delta.type === "text-delta") await fetch(seen);
    return describeResult(await stream.result());
  }
}

/** Waits for a response. Retries, because a browser may use a connection that the server has just closed. */
async function arrivedAt(address: string, signal?: AbortSignal): Promise<void> {
  for (let attempt = 1; ; attempt += 1)
    try {
      await fetch(address, signal && { signal });
      return;
    } catch (error) {
      if (signal?.aborted || attempt === 5) throw error;
    }
}

function describeResult({ outcome, message }: { outcome: string; message: { content: string } }): RunResult {
  return { end: outcome, text: message.content, printed: "" };
}

function describeFailure(error: unknown): RunResult {
  if (!isGatewayError(error)) return { end: String(error), text: "", printed: printed(error) };
  const fields = error as unknown as Record<string, unknown>;
  const { partial } = fields as { partial?: { content?: string } };
  return {
    end: error.name,
    text: partial?.content ?? "",
    detail: (fields["reason"] ?? fields["phase"] ?? fields["status"] ?? fields["path"]) as string | undefined,
    billing: fields["billing"] as string | undefined,
    message: error.message,
    printed: printed(error),
  };
}

function printed(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return [error.message, error.stack, JSON.stringify(error), printed(error.cause)].join("\n");
}
