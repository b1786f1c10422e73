import type { ServerSentEvent } from "@sluice/core/sse";
import type { Usage } from "../admitted.js";

/** The end and the content of a chat's event stream, as far as it has been read. */
export interface ChatEvents {
  /** The last `usage` that was not null. */
  readonly usage: Usage | undefined;
  /** True once `[DONE]` or an error came: nothing that follows belongs to the answer. */
  readonly isOver: boolean;
  /** True once each choice has its `finish_reason`, or the stream is over. */
  readonly isFinished: boolean;
  /** True if the gateway said an error within the stream. */
  readonly hasFailed: boolean;
  /** Number of events that carried something: text, reasoning, tool calls, a finish reason, usage after it, an error. */
  readonly contents: number;
  /** @param json the event's data, parsed; undefined where it is no JSON */
  read(event: Pick<ServerSentEvent, "event" | "data">, json: unknown): void;
  /** Reads an event that has a text and is otherwise like the one before. */
  readText(text: string): void;
}

type JSONObject = Readonly<Record<string, unknown>>;

/** @param choices number of choices that were asked for */
export function openChatEvents(choices: number): ChatEvents {
  const finished = new Map<unknown, boolean>();
  let usage: Usage | undefined;
  let isOver = false;
  let hasFailed = false;
  let contents = 0;
  return {
    get usage() {
      return usage;
    },
    get isOver() {
      return isOver;
    },
    get isFinished() {
      return isOver || isFinished();
    },
    get hasFailed() {
      return hasFailed;
    },
    get contents() {
      return contents;
    },
    read({ event, data }, json) {
      if (isOver) return;
      if (data.trimEnd() === "[DONE]") isOver = true;
      else if (event === "error" || (isObject(json) && json["error"])) {
        isOver = true;
        hasFailed = true;
        contents += 1;
      } else if (isObject(json)) readChunk(json);
    },
    readText(text) {
      if (!isOver && text !== "") contents += 1;
    },
  };

  function isFinished(): boolean {
    return finished.size >= choices && [...finished.values()].every(Boolean);
  }

  function readChunk(chunk: JSONObject): void {
    let hasContent = false;
    if (Array.isArray(chunk["choices"]))
      chunk["choices"].forEach((choice, position) => {
        if (isObject(choice) && readChoice(choice, position)) hasContent = true;
      });
    if (isObject(chunk["usage"])) {
      usage = chunk["usage"];
      hasContent ||= isFinished();
    }
    if (hasContent) contents += 1;
  }

  function readChoice(choice: JSONObject, position: number): boolean {
    const index = choice["index"] ?? position;
    const ends = isFilled(choice["finish_reason"]);
    finished.set(index, ends || finished.get(index) === true);
    const delta = choice["delta"] ?? choice["message"];
    return ends || (isObject(delta) && CONTENT.some((name) => isFilled(delta[name])));
  }
}

/** The fields of a delta that carry something. */
const CONTENT = ["content", "reasoning_content", "reasoning", "refusal", "tool_calls", "function_call"];

/** True if there is a text that is not empty in it; `type` only says of what kind a part is. */
function isFilled(value: unknown): boolean {
  if (typeof value === "string") return value !== "";
  if (typeof value !== "object" || value === null) return false;
  return Object.entries(value).some(([name, entry]) => name !== "type" && isFilled(entry));
}

function isObject(value: unknown): value is JSONObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
