import { createEventParser } from "@sluice/core/sse";

/** Returns true for a text that must not pass. Yours: a list of words, a model or a service. */
export type IsBad = (text: string) => boolean | Promise<boolean>;

/** Creates a `fetch` for `createProxy` that checks messages and responses. */
export function moderated(isBad: IsBad) {
  return async (request: Request): Promise<Response> => {
    if (!request.url.endsWith("/chat/completions")) return fetch(request);
    if (await isBad(await readLastMessage(request.clone() as Request))) return refuse();
    const response = await fetch(request);
    const isStream = response.headers.get("content-type")?.includes("event-stream");
    return isStream && response.body ? new Response(checkStream(response.body, isBad), response) : response;
  };
}

function refuse(): Response {
  const message = "This message is against the rules of this app.";
  return Response.json({ error: { message, code: "content_refused" } }, { status: 400 });
}

/** Reads the texts of the last message. Earlier messages were checked when they were the last. */
async function readLastMessage(request: Request): Promise<string> {
  const { messages } = (await request.json()) as { messages: { content: unknown }[] };
  const content = messages.at(-1)?.content;
  if (typeof content === "string") return content;
  return Array.isArray(content) ? content.map(({ text = "" }) => text).join(" ") : "";
}

const encoder = new TextEncoder();
const END = `data: {"choices":[{"index":0,"delta":{},"finish_reason":"content_filter"}]}\n\ndata: [DONE]\n\n`;

/** Forwards a response sentence by sentence, each after its check. A bad one ends it as `content_filter`. */
function checkStream(body: ReadableStream<Uint8Array>, isBad: IsBad): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let pending: string[] = [];
  let text = "";
  const parser = createEventParser({
    onEvent({ data }) {
      pending.push(`data: ${data}\n\n`);
      text += readText(data);
    },
  });
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      for (;;) {
        const { done, value } = await reader.read();
        if (value) parser.push(value);
        // wait for a whole sentence, a long one, or the end
        if (!done && !/[.!?\n]\s*$/.test(text) && text.length < 400) continue;
        if (text && (await isBad(text))) {
          controller.enqueue(encoder.encode(END));
          controller.close();
          return void reader.cancel();
        }
        for (const event of pending) controller.enqueue(encoder.encode(event));
        const isSent = pending.length > 0;
        pending = [];
        text = "";
        if (done) return controller.close();
        if (isSent) return;
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

function readText(data: string): string {
  if (data === "[DONE]") return "";
  const { choices } = JSON.parse(data) as { choices?: { delta?: { content?: string | null } }[] };
  return choices?.[0]?.delta?.content ?? "";
}
