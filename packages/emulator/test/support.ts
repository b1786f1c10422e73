import { createEmulator, type Emulator, type EmulatorOptions } from "@sluice/emulator";

export const KEY = "sk-weather-app";
export const URL_OF_CHAT = "https://gateway.test/v1/chat/completions";

/** Fields of a response; each test reads some of them. */
export interface Completion {
  id: string;
  object: string;
  created: number;
  model: string;
  choices: { index: number; message: Message; finish_reason: string }[];
  usage: Usage;
}
export interface Message {
  role: string;
  content: string | null;
  reasoning_content: string | null;
  tool_calls: { id: string; type: string; function: { name: string; arguments: string } }[] | null;
}
export interface Usage {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
  prompt_tokens_details?: { cached_tokens: number };
  prompt_cache_hit_tokens?: number;
  prompt_cache_miss_tokens?: number;
  completion_tokens_details?: { reasoning_tokens: number };
}
export interface Chunk {
  id: string;
  object: string;
  created: number;
  model: string;
  choices: { index: number; delta: Delta; finish_reason: string | null }[];
  usage?: Usage | null;
  error?: { message: string; type: string; code: string };
}
export interface Delta {
  role?: string;
  content?: string | null;
  reasoning_content?: string;
  tool_calls?: {
    index: number;
    id?: string;
    type?: string;
    function: { name?: string; arguments: string };
  }[];
}
export interface Refusal {
  error: { message: string; type: string; code: string; param?: string };
}

export function createFastEmulator(options: Partial<EmulatorOptions> = {}): Emulator {
  return createEmulator({ apiKeys: [KEY], speed: Infinity, ...options });
}

export function post(
  emulator: Pick<Emulator, "fetch">,
  body: unknown,
  init: RequestInit = {},
): Promise<Response> {
  return emulator.fetch(URL_OF_CHAT, {
    method: "POST",
    headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json" },
    body: typeof body === "string" ? body : JSON.stringify(body),
    ...init,
  });
}

/** Sends a chat request over a socket. */
export function sendTo({ url }: { readonly url: string }, body: object, init: RequestInit = {}) {
  return fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json" },
    body: JSON.stringify(body),
    ...init,
  });
}

/** Creates a request with one user message. */
export function createRequest(
  prompt: string,
  fields: object = {},
): { model: string; messages: object[] } & object {
  return { model: "alpha-v4.1-flash", messages: [{ role: "user", content: prompt }], ...fields };
}

export async function complete(emulator: Emulator, body: unknown): Promise<Completion> {
  const response = await post(emulator, body);
  if (response.status !== 200) throw new Error(`${response.status}: ${await response.text()}`);
  return (await response.json()) as Completion;
}

export async function readMessage(emulator: Emulator, body: unknown): Promise<Message> {
  const { choices } = await complete(emulator, body);
  return choices[0]?.message as Message;
}

export async function readRefusal(response: Response): Promise<Refusal["error"]> {
  return ((await response.json()) as Refusal).error;
}

/** Reads the `data` of every frame until the connection ends or fails. */
export async function readFrames(response: Response): Promise<{ frames: string[]; failure: unknown }> {
  const frames: string[] = [];
  const decoder = new TextDecoder();
  let text = "";
  try {
    for await (const piece of response.body ?? []) {
      text += decoder.decode(piece, { stream: true });
      const parts = text.split("\n\n");
      text = parts.pop() ?? "";
      frames.push(...parts.map((part) => part.replace(/^data: /, "")));
    }
    return { frames, failure: undefined };
  } catch (failure) {
    return { frames, failure };
  }
}

/** Reads the chunks of a stream that ends well, without its `[DONE]`. */
export async function readChunks(emulator: Pick<Emulator, "fetch">, body: object): Promise<Chunk[]> {
  const { frames } = await readFrames(await post(emulator, { ...body, stream: true }));
  if (frames.pop() !== "[DONE]") throw new Error("the stream did not end with [DONE]");
  return frames.map((frame) => JSON.parse(frame) as Chunk);
}

export function listDeltas(chunks: readonly Chunk[]): Delta[] {
  return chunks.flatMap(({ choices }) => choices.map(({ delta }) => delta));
}

export function joinText(deltas: readonly Delta[]): string {
  return deltas.map(({ content }) => content ?? "").join("");
}

/** A path, and the JSON to send. Without a body, the request is a GET. */
export interface EmulatorRequest {
  readonly path: string;
  readonly body?: object;
}

/** Sends JSON with the key. Without a body, the request is a GET. */
export function send(
  emulator: Pick<Emulator, "fetch">,
  path: string,
  body?: unknown,
  init: RequestInit = {},
): Promise<Response> {
  const authorization = `Bearer ${KEY}`;
  const content =
    body === undefined
      ? { headers: { authorization } }
      : {
          method: "POST",
          headers: { authorization, "content-type": "application/json" },
          body: JSON.stringify(body),
        };
  return emulator.fetch(`https://gateway.test${path}`, { ...content, ...init });
}

/** Reads the JSON of a response that must be a success. */
export async function readBody<Body>(response: Response | Promise<Response>): Promise<Body> {
  const awaited = await response;
  if (awaited.status !== 200) throw new Error(`${awaited.status}: ${await awaited.text()}`);
  return (await awaited.json()) as Body;
}

/** Reads a PNG: its chunks in order, the head, and the uncompressed rows. */
export async function readPNG(bytes: Uint8Array<ArrayBuffer>) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const chunks: { type: string; content: Uint8Array<ArrayBuffer>; crc: number }[] = [];
  for (let position = 8; position < bytes.length; ) {
    const length = view.getUint32(position);
    const type = String.fromCharCode(...bytes.subarray(position + 4, position + 8));
    chunks.push({
      type,
      content: bytes.slice(position + 8, position + 8 + length),
      crc: view.getUint32(position + 8 + length),
    });
    position += 12 + length;
  }
  const compressed = new Blob(chunks.filter(({ type }) => type === "IDAT").map(({ content }) => content));
  const rows = compressed.stream().pipeThrough(new DecompressionStream("deflate"));
  return {
    signature: [...bytes.subarray(0, 8)],
    chunks,
    width: view.getUint32(16),
    height: view.getUint32(20),
    bitDepth: view.getUint8(24),
    colourType: view.getUint8(25),
    rows: new Uint8Array(await new Response(rows).arrayBuffer()),
  };
}

export async function readBytes(response: Response): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await response.arrayBuffer());
}

/** A clock that records every sleep and ends it at once. `pass` advances the time. */
export function createLeapingClock(): NonNullable<EmulatorOptions["clock"]> & {
  readonly sleeps: number[];
  readonly pass: (ms: number) => void;
} {
  const sleeps: number[] = [];
  let now = Date.UTC(2026, 2, 14);
  return {
    sleeps,
    now: () => now,
    pass: (ms) => {
      now += ms;
    },
    sleep: async (ms, signal) => {
      signal?.throwIfAborted();
      sleeps.push(ms);
      now += ms;
    },
  };
}
