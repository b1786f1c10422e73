import type { Refusal } from "@sluice/worker-proxy/internal";
import { errorBody } from "@sluice/worker-proxy/internal";
import type { Next, Readers } from "../objects/readers.js";
import { objectRefusal } from "../objects/refusals.js";
import type { EventLog } from "./rows.js";

/** Opens a log for its readers, each of which reads on from a place of its own. */
export function openReading(log: EventLog, readers: Readers) {
  return { read, allEvents };

  /** @throws {Refusal} for an event that the log does not have, and where there are too many readers */
  function read(after: number, signal: AbortSignal, headers: Readonly<Record<string, string>>): Response {
    if (after > log.last) throw objectRefusal("event_id_invalid");
    if (log.state !== "open" && after === log.last) return new Response(null, { status: 204 });
    const response = readers.open(nextAfter(after), signal);
    for (const [name, value] of Object.entries(headers)) response.headers.set(name, value);
    return response;
  }

  function nextAfter(after: number): () => Next {
    let at = after;
    return () => {
      const part = log.after(at);
      if (part === "lost") {
        at = Number.POSITIVE_INFINITY;
        return new TextEncoder().encode(`${errorLines(objectRefusal("stream_interrupted"))}\n\n`);
      }
      if (!part) return log.state === "open" ? "wait" : "end";
      at = part.last;
      return part.bytes;
    };
  }

  function allEvents(): string {
    const decoder = new TextDecoder();
    let text = "";
    for (let part = log.after(0); part && part !== "lost"; part = log.after(part.last))
      text += decoder.decode(part.bytes);
    return text;
  }
}

/** The lines of an event with an error. */
export function errorLines(refusal: Refusal): string {
  return `event: error\ndata: ${errorBody(refusal)}`;
}
