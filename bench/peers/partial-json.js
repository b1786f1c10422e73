import { JSONParser } from "@streamparser/json";
import { PartialJSONParser } from "@tanstack/ai";
import { parsePartialJson } from "ai";
import { parse as parseRiver } from "jsonriver";
import { partialParse } from "openai/_vendor/partial-json-parser/parser";
import { parse as parsePartial } from "partial-json";

/** A reader that parses all of the text again after each delta. */
function startingAgain(parse) {
  return async (deltas) => {
    let text = "";
    let value;
    for (const delta of deltas) {
      text += delta;
      value = await parse(text);
    }
    return value;
  };
}

const tanstack = new PartialJSONParser();

export const incremental = {
  "@streamparser/json": (deltas) => {
    const parser = new JSONParser({ emitPartialTokens: true, emitPartialValues: true, paths: ["$"] });
    let last;
    parser.onValue = ({ value }) => {
      last = value;
    };
    for (const delta of deltas) parser.write(delta);
    return last;
  },
  jsonriver: async (deltas) => {
    let last;
    for await (const value of parseRiver(ReadableStream.from(deltas))) last = value;
    return last;
  },
};

export const restarting = {
  "AI SDK": startingAgain(async (text) => (await parsePartialJson(text)).value),
  "TanStack AI": startingAgain((text) => tanstack.parse(text)),
  openai: startingAgain((text) => partialParse(text)),
  "partial-json": startingAgain((text) => parsePartial(text)),
};
