import file from "../replies/show-me.md?raw";
import { parseReplyFile } from "../reply-head.ts";

/*
 * The example of the first screen, recorded. The page plays it while the script of the gateway, which is 97 kB, loads.
 * The emulator plays the same text later. The end of the recording says that it is one.
 */

const { listValues, content } = parseReplyFile(file);
const PROMPT = listValues("prompt")[0];
const NOTE = "\n\n_This response is a recording: the emulator was still loading._";
const ID = "recording";
/** Milliseconds between two parts of the text. */
const PART_MS = 20;
/** Characters of a part. */
const PART = /.{1,12}/gsu;

const events = [
  ...split(listValues("think").join(" ")).map((text) => ({ delta: { reasoning_content: text } })),
  ...split(content.replace(/^<!--.*\n/m, "").trim() + NOTE).map((text) => ({ delta: { content: text } })),
  { delta: {}, finish_reason: "stop" },
];

function split(text: string): readonly string[] {
  return text.match(PART) ?? [];
}

/** Returns the recorded response, or the rest of it. Returns undefined for other requests, and once a Service Worker runs. */
export async function playRecording(request: Request): Promise<Response | undefined> {
  if (request.url.endsWith(`/v1/chat/streams/${ID}`))
    return request.method === "DELETE"
      ? new Response(null, { status: 204 })
      : createResponse(Number(request.headers.get("last-event-id")));
  if (navigator.serviceWorker?.controller || !request.url.endsWith("/v1/chat/completions")) return undefined;
  const { messages, model } = await request.clone().json();
  const isExample = messages.length === 1 && messages[0].content === PROMPT;
  return isExample ? createResponse(0, model) : undefined;
}

function createResponse(from: number, model?: string): Response {
  let at = from;
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      await new Promise((resolve) => setTimeout(resolve, PART_MS));
      const event = events[at];
      at += 1;
      const chunk = { id: ID, object: "chat.completion.chunk", created: 0, model };
      const data = event && JSON.stringify({ ...chunk, choices: [{ index: 0, ...event }] });
      controller.enqueue(encoder.encode(`id: ${at}\ndata: ${data ?? "[DONE]"}\n\n`));
      if (!event) controller.close();
    },
  });
  return new Response(body, { headers: { "content-type": "text/event-stream", "x-stream-id": ID } });
}
