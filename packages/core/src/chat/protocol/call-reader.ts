import type { ChatDelta } from "./delta.js";
import type { FieldReader } from "./field-reader.js";

/** Reads the tool calls of one answer. The parts of a call may come in many deltas. */
export interface CallReader {
  /** Number of calls so far. */
  readonly count: number;
  /** Reads the entry of `tool_calls` at `position` in a chunk. Returns true if it brought something new. */
  read(entry: unknown, position: number, chunk: number): boolean;
  /** Ends the tool calls: they are whole. */
  finish(): void;
}

interface OpenCall {
  /** Id that the service gave. `id` differs from it where two calls have the same one. */
  wireId: string;
  id: string;
  name: string;
  text: string;
  /** Number of the last chunk with a part of the call. */
  chunk: number;
}

/** Creates a reader of tool calls; `emit` gets their deltas in order. */
export function createCallReader(
  emit: (delta: ChatDelta) => void,
  { text, record, entry }: FieldReader,
): CallReader {
  const calls: OpenCall[] = [];
  // the last call of each index and id: a search through all calls would take quadratic time
  const byIndex = new Map<string, number>();
  const byId = new Map<string, number>();
  const ids = new Set<string>();

  return {
    get count() {
      return calls.length;
    },
    read(value, position, chunk) {
      const part = entry(value, "choices.delta.tool_calls");
      if (!part) return false;
      const fn = record(part.function, "choices.delta.tool_calls.function") ?? {};
      const index = textOrNumber(part.index, "choices.delta.tool_calls.index");
      const wireId = textOrNumber(part.id, "choices.delta.tool_calls.id");
      const name = text(fn.name, "choices.delta.tool_calls.function.name");
      const more = argumentsText(fn.arguments);
      // a call is found by its index, otherwise by its id, otherwise by its position in the array
      const key = index || `${position}`;
      let at = (index === "" && wireId !== "" ? byId.get(wireId) : byIndex.get(key)) ?? calls.length;
      if (isAnother(calls[at], wireId, name, index === "" ? chunk : undefined)) at = calls.length;
      const isNew = at === calls.length;
      if (isNew) {
        if (!wireId && !name && !more) return false;
        calls.push({ wireId: "", id: "", name: "", text: "", chunk });
        byIndex.set(key, at);
      }
      const call = calls[at] as OpenCall;
      const isNamed = identify(call, at, wireId, name);
      if (isNew) emit({ type: "tool-call-start", index: at, id: call.id, name });
      call.chunk = chunk;
      if (more === "") return isNew || isNamed;
      call.text += more;
      emit({ type: "tool-call-delta", index: at, arguments: more });
      return true;
    },
    finish() {
      calls.forEach(({ id, name, text }, index) => {
        const fn = { name, arguments: text };
        const toolCall = { id: id || unused("call", index), type: "function", function: fn } as const;
        emit({ type: "tool-call", index, toolCall });
      });
    },
  };

  /**
   * Returns true if an entry with an id and a name begins another call: it has another id, or its chunk already had
   * this id.
   */
  function isAnother(call: OpenCall | undefined, wireId: string, name: string, chunk?: number): boolean {
    if (!call?.wireId || !wireId || !name) return false;
    return call.wireId !== wireId || call.chunk === chunk;
  }

  /** Sets id and name. Never appends to them: services repeat them, or send them empty later. */
  function identify(call: OpenCall, at: number, wireId: string, name: string): boolean {
    const isNamed = name !== "" && name !== call.name;
    if (isNamed) call.name = name;
    if (wireId === "" || wireId === call.wireId) return isNamed;
    call.wireId = wireId;
    call.id = ids.has(wireId) ? unused(wireId, at) : wireId;
    ids.add(call.id);
    byId.set(wireId, at);
    return true;
  }

  /** Makes an id for a call that has none, or the id of another call. */
  function unused(id: string, at: number): string {
    let unique = `${id}-${at}`;
    while (ids.has(unique)) unique += `-${at}`;
    ids.add(unique);
    return unique;
  }

  /** Reads a text. Some services send ids and indexes as numbers. */
  function textOrNumber(value: unknown, path: string): string {
    return typeof value === "number" ? `${value}` : text(value, path);
  }
}

function argumentsText(value: unknown): string {
  if (value === null || value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}
