import { type Batch, type BatchOptions, type BatchRequest, createBatch } from "@sluice/batch";
import type { ClientEvent, ClientOptions, RecordStorage } from "@sluice/core";
import { memoryStorage } from "@sluice/stores";
import { createTestClient, stoppedClock } from "../../../core/test/support/gateway.js";

/** The response to one request; `nth` counts the requests for the same prompt from 1. */
type Respond = (prompt: string, nth: number, request: Request) => Response | Promise<Response>;

/** Requests for images, `count` of them: "reef 0", "reef 1", … */
export function createReefs(count: number, from = 0): BatchRequest[] {
  return Array.from({ length: count }, (_, index) => createReef(`reef ${index + from}`));
}

/** A request for an image. */
export function createReef(prompt: string, id?: string): BatchRequest {
  const image = { model: "gamma-image-5-0-260128", prompt } as const;
  return id === undefined ? { image } : { id, image };
}

/** The image of a prompt. */
export function createImageResponse(prompt: string): Response {
  const url = `https://files.test/${encodeURIComponent(prompt)}.png`;
  return Response.json({
    data: [{ url }],
    usage: { generated_images: 1, output_tokens: 10, total_tokens: 10 },
  });
}

/** A refusal of the gateway. */
export function createRefusal(status: number, headers: Record<string, string> = {}): Response {
  return Response.json({ error: { message: `status ${status}`, code: "no" } }, { status, headers });
}

/** The prompt of an image or video request. */
export async function readPrompt(request: Request): Promise<string> {
  const { prompt, input, messages } = await request.clone().json();
  return prompt ?? input?.prompt ?? messages?.[0]?.content;
}

/** Creates a storage that counts its written records, and runs `onWrite` for each write. */
export function watchWrites(
  storage: RecordStorage,
  onWrite: (nth: number) => unknown = () => {},
): { readonly writes: readonly ReadonlyMap<string, unknown>[]; readonly storage: RecordStorage } {
  const writes: ReadonlyMap<string, unknown>[] = [];
  const counted =
    (write: RecordStorage["write"]): RecordStorage["write"] =>
    async (collection, changes) => {
      writes.push(changes);
      await onWrite(writes.length);
      return write(collection, changes);
    };
  const lock: RecordStorage["lock"] = async (name) => {
    const held = await storage.lock?.(name);
    return held && { ...held, write: counted(held.write) };
  };
  return { writes, storage: { ...storage, write: counted(storage.write), lock } };
}

type BatchResult = Parameters<NonNullable<BatchOptions["onResult"]>>[0];

interface Opened extends Partial<BatchOptions> {
  readonly respond?: Respond;
  readonly client?: Partial<ClientOptions>;
}

/** Creates a batch whose gateway is `respond`. The test moves the clock. */
export function openBatch(
  requests: readonly BatchRequest[],
  {
    respond = createImageResponse,
    client: clientOptions = {},
    storage = memoryStorage(),
    ...options
  }: Opened = {},
) {
  const clock = stoppedClock();
  const prompts: string[] = [];
  const events: ClientEvent[] = [];
  const results: BatchResult[] = [];
  const { client } = createTestClient(
    async (request) => {
      const prompt = await readPrompt(request);
      prompts.push(prompt);
      return respond(prompt, prompts.filter((other) => other === prompt).length, request);
    },
    {
      apiKey: "sk-0123456789",
      dangerouslyAllowBrowser: true,
      clock,
      random: () => 0,
      retry: { limit: 0 },
      onEvent: (event) => events.push(event),
      ...clientOptions,
    },
  );
  const batch: Batch = createBatch(client, requests, {
    id: "reefs",
    storage,
    onResult: (result) => void results.push(result),
    ...options,
  });
  return {
    batch,
    client,
    clock,
    storage,
    prompts,
    events,
    results,
    run: (ms = 1000) => clock.advanceUntil(batch.run(), ms),
  };
}
