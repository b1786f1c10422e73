/*
 * A chat stream as gateways send it: frames of about 285 bytes, a fifth of them reasoning, tokens of several scripts.
 * The same in each run.
 */

const encoder = new TextEncoder();
const words =
  ' the| of| and| to| function| return|\n|\n\n| "quoted"| const| value| streaming| model| 你好|，| é| 🚀| a| in| that|.|,| =| {| }| performance| latency| tokens| 1|0'.split(
    "|",
  );

/** The last text of a response that a page shows. */
export const END = "the end of it";

/** `count` frames as events, the last one with the finish reason and the usage. */
export function makeEvents(count: number): string[] {
  let state = 12_345;
  const next = () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return state / 4_294_967_296;
  };
  return Array.from({ length: count }, (_, at) => {
    const word = words[Math.floor(next() * words.length)];
    if (at === 0) return createEvent({ role: "assistant", content: "" });
    if (at < count - 1) return createEvent(at < count / 5 ? { reasoning_content: word } : { content: word });
    const usage = { prompt_tokens: 17, completion_tokens: count, total_tokens: count + 17 };
    return createEvent({ content: "" }, "stop", { usage });
  });
}

function createEvent(delta: object, finish_reason: string | null = null, rest: object = {}): string {
  const chunk = {
    id: "chatcmpl-7f9a2c31-4b6e-4d0a-9a5e-0c1d2e3f4a5b",
    object: "chat.completion.chunk",
    created: 1_755_000_000,
    model: "alpha-v4.1-flash",
    system_fingerprint: "fp_8802369eaa_prod0425fp8",
    choices: [{ index: 0, delta, logprobs: null, finish_reason }],
    ...rest,
  };
  return `data: ${JSON.stringify(chunk)}\n\n`;
}

/** The events as reads: one each, or in pieces of so many bytes. */
export function splitReads(events: readonly string[], size: "one frame" | number): Uint8Array[] {
  const all = [...events, "data: [DONE]\n\n"];
  if (size === "one frame") return all.map((event) => encoder.encode(event));
  const bytes = encoder.encode(all.join(""));
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
    bytes.slice(at * size, (at + 1) * size),
  );
}

/** A response whose body gives one read for each time it is asked. */
export function createResponse(reads: readonly Uint8Array[]): Response {
  let at = 0;
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const bytes = reads[at++];
        if (bytes) controller.enqueue(bytes);
        else controller.close();
      },
    },
    { highWaterMark: 0 },
  );
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}
