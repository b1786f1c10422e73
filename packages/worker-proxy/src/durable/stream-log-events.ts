import { errorBody, type Refusal } from "../refusal.js";

/** No event of a chat is near it; memory has to end somewhere. */
const HELD_CHARACTERS = 8 * 1024 * 1024;

/**
 * Cuts an event stream into its events, whatever its line ends and wherever its pieces were cut. Comments are left
 * out, and so are the gateway's ids: an id says the place in the log.
 */
export function openEvents() {
  const decoder = new TextDecoder();
  let held = "";

  return {
    push: (bytes: Uint8Array) => cut(decoder.decode(bytes, { stream: true })),
    /** The stream is over: what has no blank line yet gets one. */
    end: () => cut(`${decoder.decode()}\n\n`),
  };

  function cut(text: string): string[] {
    held += text;
    // pieces end at line feeds: no carriage return is parted from its own
    const blocks = held.replace(/\r\n?/g, "\n").split("\n\n");
    held = blocks.pop() ?? "";
    if (held.length > HELD_CHARACTERS) throw new RangeError("an event of the gateway has no end");
    return blocks.flatMap((block) => eventOf(block) ?? []);
  }
}

function eventOf(block: string): string | undefined {
  const lines = block.split("\n").filter((line) => line !== "" && !/^id(?:$|:)/.test(line));
  return lines.every((line) => line.startsWith(":")) ? undefined : lines.join("\n");
}

/** An error as an event of the stream, without its blank line. */
export function errorEvent(refusal: Refusal): string {
  return `event: error\ndata: ${errorBody(refusal)}`;
}
