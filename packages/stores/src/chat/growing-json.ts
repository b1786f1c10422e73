import { createPartialJSON } from "@sluice/core/partial-json";

/** The JSON of a response that is still arriving. Values are undefined before they begin. */
export interface GrowingJSON {
  /** Reads the JSON in the text so far. It begins at the first bracket, because models write words around the JSON. */
  readOutput(content: string): unknown;
  /** Reads the arguments so far of the call at `index`. */
  readInput(index: number, text: string): unknown;
}

/** Creates the reader of one response. */
export function createGrowingJSON(): GrowingJSON {
  const inputs: ((text: string) => unknown)[] = [];
  const readValue = createValueReader();
  return {
    readOutput(content) {
      const start = content.search(/[{[]/);
      return start === -1 ? undefined : readValue(content.slice(start));
    },
    readInput(index, text) {
      inputs[index] ??= createValueReader();
      return inputs[index](text);
    },
  };
}

/** Creates a function that reads a text which has grown since its last call. */
function createValueReader(): (text: string) => unknown {
  const parser = createPartialJSON();
  let length = 0;
  return (text) => {
    parser.push(text.slice(length));
    length = text.length;
    return parser.value;
  };
}
