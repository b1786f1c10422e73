import { parseJSON } from "../../transport/error-response.js";
import type { ChatDelta } from "./delta.js";
import { readEntry, readRecord, readText } from "./response-reader.js";

/** Reads the tool calls of one response. The fragments of a call may arrive in many deltas. */
export interface CallReader {
  /** Number of calls so far. */
  readonly count: number;
  /** Reason why the calls are ambiguous or can't run; undefined if they can. */
  readonly problem: string | undefined;
  /**
   * Reads an entry of `tool_calls` in a chunk. Returns true if it changed a call.
   *
   * @param isWhole true for an entry of a whole message: each entry is a call
   */
  read(entry: unknown, chunk: number, isWhole: boolean): boolean;
  /** Ends the tool calls: they are complete. */
  finish(): void;
}

/** The fields of an entry. A missing, null or blank field is empty. */
interface Fragment {
  readonly index: string;
  readonly wireId: string;
  readonly name: string;
  readonly text: string;
  /** Number of the chunk; for a call, of its last chunk. */
  readonly chunk: number;
}

/** A call. `wireId` and `name` are empty until they arrive. */
interface OpenCall extends Writable<Fragment> {
  /** The service's id, or a new id if an earlier call has the same one. */
  id: string;
  /** Position among the calls with a name. */
  at: number;
  /** True for a call that may repeat the previous call. If arguments follow, it is a new call. */
  readonly isDoubtful: boolean;
  /** True if the arguments are complete; undefined if unknown. */
  isWhole?: boolean | undefined;
}

type Writable<Fields> = { -readonly [Name in keyof Fields]: Fields[Name] };

const UNCLEAR = "it does not say to which tool call a part belongs; no tool runs";
const NAMELESS = "it calls a tool without a name; no tool runs";

/** Largest number of calls to compare a fragment with, because comparing takes quadratic time. */
const MAX_COMPARED = 1000;

/** Creates a reader of tool calls. `emit` gets their deltas in order, as soon as a call has a name. */
export function createCallReader(emit: (delta: ChatDelta) => void): CallReader {
  const calls: OpenCall[] = [];
  const named: OpenCall[] = [];
  const byId = new Map<string, OpenCall[]>();
  /** The calls without an index are at "". */
  const byIndex = new Map<string, OpenCall[]>();
  const ids = new Set<string>();
  let problem: string | undefined;

  return {
    get count() {
      return calls.length;
    },
    get problem() {
      if (calls.length > named.length) return problem ?? NAMELESS;
      return problem ?? (named.some((call) => call.isDoubtful && isBlank(call.text)) ? UNCLEAR : undefined);
    },
    read(value, chunk, isWhole) {
      const given = readEntry(value);
      if (!given) return false;
      const fn = readRecord(given.function) ?? {};
      const part: Fragment = {
        index: readTextOrNumber(given.index),
        wireId: readTextOrNumber(given.id),
        name: readText(fn.name).trim(),
        text: readArguments(fn.arguments),
        chunk,
      };
      if (!part.wireId && !part.name && !part.text) return false;
      const call = problem === undefined ? (isWhole ? begin(part) : findCall(part)) : undefined;
      if (call) return add(part, call);
      problem ??= UNCLEAR;
      return part.text !== "";
    },
    finish() {
      named.forEach(({ id, name, text }, index) => {
        const fn = { name, arguments: text };
        const toolCall = { id: id || createUnusedId("call", index), type: "function", function: fn } as const;
        emit({ type: "tool-call", index, toolCall });
      });
    },
  };

  /**
   * Finds the call of a fragment, or begins a new call. Returns undefined if the choice is ambiguous: a wrong choice
   * would run a tool with the arguments of another call.
   *
   * - A known id wins. Without one, all present fields must agree.
   * - Complete arguments accept no more text, and new arguments begin with a bracket.
   * - The name of a call comes before its arguments. If calls have ids, the first fragment carries the id.
   */
  function findCall(part: Fragment): OpenCall | undefined {
    const { index, wireId, name, text, chunk } = part;
    const sameIndex = byIndex.get(index) ?? [];
    const sameId = byId.get(wireId);
    const known =
      sameId && sameId.length > 1 && index ? sameId.filter((call) => call.index === index) : sameId;
    const compared = known ?? (index ? [...sameIndex, ...(byIndex.get("") ?? [])] : calls);
    if (compared.length > MAX_COMPARED) return undefined;
    const fits = compared.filter(
      (call) =>
        (known || !wireId || !call.wireId) &&
        (!name || name === call.name || (!call.name && isBlank(call.text))),
    );
    const [first] = fits;
    const opens = /^\s*[{[]/.test(text);
    // nearly every fragment
    if (first && fits.length === 1 && !name && (known || (!wireId && !opens))) return first;

    const begins = known
      ? // its index shows that it is another call
        name !== "" &&
        (index ? sameIndex.length === 0 && fits.every((call) => call.index) : first?.chunk === chunk)
      : wireId
        ? name !== "" || text !== ""
        : name !== "" && fits.every((call) => !call.wireId);
    const open = fits.filter((call) => !isComplete(call));
    if (open.length > 0) return open.length > 1 || (begins && (opens || isBlank(text))) ? undefined : open[0];
    if (begins || !first) return begin(part, first && isBlank(text) && (known || !wireId));
    if (isBlank(text) || (known && !opens)) return first;
    return name ? begin(part) : undefined;
  }

  function begin({ index, chunk }: Fragment, isDoubtful: unknown = false): OpenCall {
    const call = { index, wireId: "", name: "", text: "", chunk, id: "", at: -1, isDoubtful: !!isDoubtful };
    calls.push(call);
    addToList(byIndex, index, call);
    return call;
  }

  /** Adds a fragment to its call. Never changes an id or a name: services repeat them, or later send them empty. */
  function add({ wireId, name, text, chunk }: Fragment, call: OpenCall): boolean {
    const isNew = (name && !call.name) || (wireId && !call.wireId);
    call.chunk = chunk;
    if (wireId && !call.wireId) {
      call.wireId = wireId;
      call.id = ids.has(wireId) ? createUnusedId(wireId, calls.length - 1) : wireId;
      ids.add(call.id);
      addToList(byId, wireId, call);
    }
    if (name && !call.name) {
      call.name = name;
      call.at = named.push(call) - 1;
      emit({ type: "tool-call-start", index: call.at, id: call.id, name });
    }
    if (text === "") return !!isNew;
    call.text += text;
    call.isWhole = undefined;
    if (call.name) emit({ type: "tool-call-delta", index: call.at, arguments: text });
    return true;
  }

  /** Creates an id for a call without one, or with the id of another call. */
  function createUnusedId(id: string, at: number): string {
    let unique = `${id}-${at}`;
    while (ids.has(unique)) unique += `-${at}`;
    ids.add(unique);
    return unique;
  }

  /** Reads a text or a number. Some services send ids and indexes as numbers. */
  function readTextOrNumber(value: unknown): string {
    return typeof value === "number" ? `${value}` : readText(value).trim();
  }
}

function addToList(lists: Map<string, OpenCall[]>, key: string, call: OpenCall): void {
  const list = lists.get(key);
  if (list) list.push(call);
  else lists.set(key, [call]);
}

/** Returns true if the arguments of a call are complete: JSON that only spaces can continue. */
function isComplete(call: OpenCall): boolean {
  call.isWhole ??= /[}\]]\s*$/.test(call.text) && parseJSON(call.text) !== undefined;
  return call.isWhole;
}

function isBlank(text: string): boolean {
  return text.trim() === "";
}

function readArguments(value: unknown): string {
  if (value === null || value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}
