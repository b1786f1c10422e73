import type { Random } from "./random.js";

/** Text in each value that no table lists. */
export const UNLISTED = "unl1sted";

interface Tree {
  [name: string]: unknown;
}

const imageURL = "https://cdn.example/a.png";
const bodies: readonly Tree[] = [
  {
    model: "alpha-v4.1-flash",
    messages: [
      { role: "user", content: [{ type: "image_url", image_url: { url: imageURL } }] },
      {
        role: "assistant",
        tool_calls: [{ id: "1", type: "function", function: { name: "f", arguments: "{}" } }],
      },
    ],
    thinking: { type: "enabled" },
    response_format: { type: "text" },
    tool_choice: { type: "function", function: { name: "f" } },
  },
  { model: "delta-5.3", messages: [{ role: "user", content: "hi" }], thinking: { type: "enabled" } },
  { model: "gamma-chat-1-6-251015", messages: [{ role: "system", content: "hi" }], stop: "a" },
];
const names = [
  "models",
  "fallbacks",
  "n",
  "best_of",
  "max_output_tokens",
  "max_completion_tokens",
  "frames",
  "extra_body",
  "extra",
  "parameters",
  "duration",
  "api_base",
  "image_url",
  "url",
  "URL",
  "Model",
  "MODEL",
  "max_to\u212aens",
  "me\u017f\u017fages",
  "constructor",
  "toString",
  "hasOwnProperty",
  "",
  " model",
  "input",
  "role ",
  "0",
  // the proxy drops these fields, because OpenAI clients send them
  "metadata",
  "user",
  "logprobs",
  "cache_control",
];
const small = ["0", "{}", "[]", '""', "null", '{"a":[[{"b":{}}]]}', '"\\u0061"', "[[],[]]", "1e9"];

/** Creates the body of a chat with unlisted fields at any level. */
export function unlistedBody({ one, rarely }: Random): Tree {
  const body = structuredClone(one(bodies)) as Tree;
  do {
    const [owner, name] = [one(listObjects(body)), one(names)];
    if (!Object.hasOwn(owner, name)) owner[name] = filling();
  } while (rarely(0.3));
  return body;

  function filling(): unknown {
    const value = one<unknown>([UNLISTED, [UNLISTED], { a: UNLISTED }, `https://${UNLISTED}.example/a.png`]);
    return rarely(0.4) ? { [one(names)]: rarely(0.4) ? { [one(names)]: value } : value } : value;
  }
}

/** A chat's body of up to 8 MB of small values, as text. */
export function manyValues({ one, below }: Random): string {
  const piece = one(small);
  // more than the maximum of 200,000
  const count = Math.max(250_000, Math.floor(((1 + below(7)) * 1_000_000) / (piece.length + 1)));
  const values = Array(count).fill(piece).join(",");
  return one([
    `{"model":"delta-5.3","messages":[${values}]}`,
    `{"model":"delta-5.3","messages":[],"stop":[${values}]}`,
    `{"model":"alpha-v4.1-flash","messages":[],"metadata":[${values}]}`,
    `{"model":"alpha-v4.1-flash","messages":[],"tools":[{"function":{"parameters":[${values}]}}]}`,
  ]);
}

function listObjects(value: unknown): Tree[] {
  if (typeof value !== "object" || value === null) return [];
  const below = Object.values(value).flatMap(listObjects);
  return Array.isArray(value) ? below : [value as Tree, ...below];
}
