/** Another way out than the global `fetch`: a service binding, a test. It must not follow redirects. */
export type Fetch = (request: Request) => Promise<Response>;

const ANSWER_MS = 5000;
const ANSWER_BYTES = 262_144;

/** An answer; `json` is undefined where the body was none, or too large. */
export interface Answer {
  readonly status: number;
  readonly json: unknown;
}

/**
 * Asks another server for JSON. Waits and size are bounded, and a redirect is an answer like any other, never followed.
 *
 * @throws what the network threw, or that it took too long
 */
export function askJSON(url: string, init: RequestInit, fetch: Fetch): Promise<Answer> {
  return within(ANSWER_MS, async (signal) => {
    const response = await fetch(new Request(url, { ...init, redirect: "manual", signal }));
    const text = await readAtMost(ANSWER_BYTES, response.body, signal);
    return { status: response.status, json: parsed(text) };
  });
}

/** Raced, not only aborted: an answer made in this process does not hear the abort. */
export async function within<T>(ms: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error("it took too long")), ms);
  });
  try {
    return await Promise.race([work(controller.signal), late]);
  } finally {
    clearTimeout(timer);
    controller.abort();
  }
}

/** A body's text; undefined where it has more bytes than that. */
export async function readAtMost(
  bytes: number,
  body: ReadableStream<Uint8Array> | null,
  signal: AbortSignal,
): Promise<string | undefined> {
  const reader = body?.getReader();
  if (!reader) return "";
  signal.addEventListener("abort", () => {
    reader.cancel().catch(() => {});
  });
  const decoder = new TextDecoder();
  let text = "";
  let left = bytes;
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
    left -= piece.value.byteLength;
    if (left < 0) return undefined;
    text += decoder.decode(piece.value, { stream: true });
  }
  return text;
}

export function parsed(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? "");
  } catch {
    return undefined;
  }
}
