/** A call of the model. `name` is undefined if the gateway does not send it. */
interface MadeCall {
  readonly name: string | undefined;
  readonly arguments: string;
}

/** The tool calls of a response, as a gateway streams them. */
export interface CallStream {
  /** Entries of `tool_calls`, by chunk. */
  readonly chunks: readonly (readonly object[])[];
  /** The calls that a gateway may mean by these chunks: where fields are missing, more than one list. */
  readonly meanings: readonly (readonly MadeCall[])[];
  /** True if a known gateway streams calls in this way, so that the client has to read them. */
  readonly isReadable: boolean;
  /** True if the chunks do not look like other calls, so that the client must not misread them. */
  readonly isUnambiguous: boolean;
}

/** Returns the value of a field by the index of the call and of its fragment. Undefined omits the field. */
type Field<Value = unknown> = (call: number, fragment: number) => Value;

const onFirst =
  (value: (call: number) => unknown, rest?: unknown): Field =>
  (call, fragment) =>
    fragment === 0 ? value(call) : rest;

const ids: Readonly<Record<string, Field>> = {
  own: (call) => `id-${call}`,
  "own on the first fragment": onFirst((call) => `id-${call}`),
  "own on the first fragment, then blank": onFirst((call) => `id-${call}`, " "),
  "own on the last fragments": (call, fragment) => (fragment === 0 ? null : `id-${call}`),
  "own, of the second call": (call) => (call === 1 ? "id-1" : null),
  repeated: () => "id",
  "repeated on the first fragment": onFirst(() => "id"),
  missing: (call, fragment) => [undefined, null, ""][(call + fragment) % 3],
};
const indexes: Readonly<Record<string, Field>> = {
  own: (call) => call,
  "own on the first fragment": onFirst((call) => call),
  repeated: () => 0,
  missing: (call, fragment) => [undefined, null][(call + fragment) % 2],
};
const isNamed: Readonly<Record<string, Field<boolean>>> = {
  "on the first fragment": (_, fragment) => fragment === 0,
  "on all fragments": () => true,
  "on the last fragments": (_, fragment) => fragment > 0,
  "of the first call missing": (call, fragment) => call > 0 && fragment === 0,
  "of the second call missing": (call, fragment) => call !== 1 && fragment === 0,
};
const noNames = [undefined, "", null];
const tools = [
  ["read", "write", "delete"],
  ["read", "read", "read"],
];
const argumentTexts: readonly ((call: number) => string)[] = [
  () => "",
  (call) => `{"n":[${call}]}`,
  () => '{"n":[]}',
];
const cuts: Readonly<Record<string, (text: string) => readonly (string | null)[]>> = {
  whole: (text) => [text],
  "whole behind an empty one": (text) => ["", text],
  "in pieces": (text) => [text.slice(0, 6), text.slice(6)],
  "in pieces between empty ones": (text) => [null, text.slice(0, 6), text.slice(6), ""],
};
type FragmentPosition = readonly [call: number, fragment: number];
const orders: Readonly<
  Record<string, (positions: readonly FragmentPosition[]) => readonly (readonly FragmentPosition[])[]>
> = {
  "one after the other": (positions) => positions.map((position) => [position]),
  interleaved: (positions) => [...positions].sort(([, a], [, b]) => a - b).map((position) => [position]),
  "interleaved, the last call first": (positions) =>
    [...positions].sort(([a, nth], [b, other]) => nth - other || b - a).map((position) => [position]),
  "in one chunk": (positions) => [positions],
};

/** Names of the variants that form a stream. */
interface Variants {
  readonly id: string;
  readonly index: string;
  readonly name: string;
  readonly order: string;
  readonly cut: string;
  readonly list: string;
  readonly hasOneTool: boolean;
}

/** Returns true if a known gateway streams calls in this way. */
function isReadable({ id, index, name, order, cut, list }: Variants): boolean {
  if (!/^on (the first|all)/.test(name) || /repeated|last|second/.test(id)) return false;
  if (index === "own" && name === "on the first fragment") return true;
  if (order === "in one chunk") return false;
  return id === "own" || (order === "one after the other" && cut === "whole" && !list.includes("0"));
}

/**
 * Returns false for fields that make several calls look like one: calls of one tool whose id is repeated, and a call
 * without a name behind a call without arguments.
 */
function isUnambiguous({ id, index, name, hasOneTool }: Variants): boolean {
  if (name.endsWith("missing"))
    return /^own(?! on the last|, of)/.test(id) || (index === "own" && !id.startsWith("repeated"));
  return !hasOneTool || (!/repeated|second/.test(id) && !name.includes("last"));
}

/**
 * Creates the streams of tool calls for every combination: fields that are present, missing, blank, null or repeated,
 * arguments in several fragments, and fragments in several orders. Combinations with the same chunks are one stream.
 *
 * @param lists the arguments of the calls: `01` is a call without arguments and one with some
 */
export function createCallStreams(lists: readonly string[]): CallStream[] {
  const streams = new Map<string, { -readonly [Name in keyof CallStream]: CallStream[Name] }>();
  let nth = 0;
  for (const list of lists)
    for (const names of tools.slice(0, list.length))
      for (const [cut, cutText] of Object.entries(cuts))
        for (const [order, inOrder] of Object.entries(orders))
          for (const [id, createId] of Object.entries(ids))
            for (const [index, createIndex] of Object.entries(indexes))
              for (const [name, hasName] of Object.entries(isNamed)) {
                const noName = noNames[nth++ % noNames.length];
                const made = Array.from(list, (which, call) => argumentTexts[Number(which)]?.(call) ?? "");
                const fragments = made.map(cutText);
                const positions = inOrder(
                  fragments.flatMap((texts, call) =>
                    texts.map((_, fragment): FragmentPosition => [call, fragment]),
                  ),
                );
                const chunks = positions.map((chunk) =>
                  chunk.map(([call, fragment]) =>
                    createEntry(
                      createId(call, fragment),
                      createIndex(call, fragment),
                      hasName(call, fragment) ? names[call] : noName,
                      fragments[call]?.[fragment],
                    ),
                  ),
                );
                const calls = [...new Set(positions.flat().map(([call]) => call))].map((call) => ({
                  name: fragments[call]?.some((_, fragment) => hasName(call, fragment))
                    ? names[call]
                    : undefined,
                  arguments: made[call] ?? "",
                }));
                const key = JSON.stringify(chunks);
                const known = streams.get(key);
                const hasOneTool = names[0] === names[1] && list.length > 1;
                const variants = { id, index, name, order, cut, list, hasOneTool };
                streams.set(key, {
                  chunks,
                  meanings: [...(known?.meanings ?? []), calls],
                  isReadable: isReadable(variants) || known?.isReadable === true,
                  isUnambiguous: isUnambiguous(variants) && known?.isUnambiguous !== false,
                });
              }
  return [...streams.values()];
}

function createEntry(id: unknown, index: unknown, name: unknown, text: unknown): object {
  return {
    ...(index !== undefined && { index }),
    ...(id !== undefined && { id }),
    function: { ...(name !== undefined && { name }), ...(text !== null && { arguments: text }) },
  };
}
