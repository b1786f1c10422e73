import { expectNoKey } from "./key.js";

/** One item of a stream: an event, a comment, or its end. */
export interface Sent {
  readonly event?: string;
  readonly id?: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into the gateway's JSON
  readonly data?: any;
  readonly comment?: boolean;
  readonly stopped?: "closed" | "cut";
}

/** An event stream, read block by block. */
export function readEvents({ body }: Response) {
  const reader = (body as ReadableStream<Uint8Array>).getReader();
  const decoder = new TextDecoder();
  let text = "";

  return { next, nextEvent, leave: () => reader.cancel() };

  async function next(): Promise<Sent> {
    for (;;) {
      const end = text.indexOf("\n\n");
      if (end >= 0) {
        const block = text.slice(0, end);
        text = text.slice(end + 2);
        return parseBlock(block);
      }
      try {
        const { done, value } = await reader.read();
        if (done) return { stopped: "closed" };
        text += decoder.decode(value, { stream: true });
      } catch {
        return { stopped: "cut" };
      }
      expectNoKey(text);
    }
  }

  /** Returns the next event; comments are skipped. */
  async function nextEvent(): Promise<Sent> {
    for (;;) {
      const event = await next();
      if (!event.comment) return event;
    }
  }
}

/** An event stream, read as text, as far as a test wants. */
export function createTextReader({ body }: Response) {
  const reader = (body as ReadableStream<Uint8Array>).getReader();
  const decoder = new TextDecoder();
  let text = "";
  let checkedTo = 0;
  return {
    /** Reads until the text contains `wanted`, or to the end. */
    async until(wanted: string): Promise<string> {
      // Search each part once, in a short string: a search joins all parts of a long one, and streams have megabytes.
      let end = text;
      while (!end.includes(wanted)) {
        end = end.slice(-wanted.length);
        const { done, value } = await reader.read();
        if (done) break;
        const part = decoder.decode(value, { stream: true });
        text += part;
        end += part;
      }
      expectNoKey(text.slice(checkedTo));
      checkedTo = Math.max(0, text.length - 1000);
      return text;
    },
    leave: () => reader.cancel(),
  };
}

function parseBlock(block: string): Sent {
  if (block === ":") return { comment: true };
  const fields = Object.fromEntries(block.split("\n").map((line) => line.split(/: (.*)/s)));
  return { ...fields, data: JSON.parse(fields.data) };
}
