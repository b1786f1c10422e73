import type { Client } from "./client.ts";
import type { Endpoint } from "./endpoints.ts";
import { type Scenario, type ScenarioName, scenarios } from "./scenarios.ts";

export type ClientName = (typeof clientNames)[number];

export const clientNames = [
  "openai",
  "openai 4",
  "AI SDK, openai-compatible",
  "AI SDK, openai",
  "LangChain",
  "LangGraph",
  "OpenAI Agents SDK",
  "Instructor",
  "xsAI",
  "TanStack AI",
  "LlamaIndex",
  "openai-fetch",
  "Ax",
  "Hugging Face",
  "curl",
  "Mastra",
  "Genkit",
] as const;

/** The peculiarities of one client. All other scenarios pass, or are denied by the specification. */
interface Verdicts {
  /** Methods that the client does not have, and with them their scenarios. */
  readonly without?: readonly (keyof Client)[];
  /** Scenarios that the client does not have, though it has their methods. */
  readonly lacks?: readonly ScenarioName[];
  /** Denied scenarios that pass all the same, since the client sends another request. */
  readonly passes?: Partial<Record<ScenarioName, readonly Endpoint[]>>;
  /** Scenarios that fail by the client's own doing. */
  readonly fails?: Partial<Record<ScenarioName, readonly Endpoint[]>>;
}

const directly = ["emulator"] as const;
const byProxy = ["proxy"] as const;
const unlessAdapted = ["emulator", "proxy"] as const;

export const verdicts: Readonly<Record<ClientName, Verdicts>> = {
  openai: {},
  "openai 4": {},
  "AI SDK, openai-compatible": {
    without: ["asDeveloper", "byFunctions", "listModels", "respond", "several"],
  },
  "AI SDK, openai": {
    without: ["asDeveloper", "byFunctions", "listModels", "several"],
    lacks: ["the thinking"],
    fails: {
      "a stream that ends early": unlessAdapted,
      "an image drawn": unlessAdapted,
    },
  },
  LangChain: {
    without: ["asDeveloper", "byFunctions", "draw", "listModels", "several", "streamTools"],
    fails: {
      "a stream that ends early": unlessAdapted,
    },
  },
  LangGraph: {
    without: [
      "asDeveloper",
      "byFunctions",
      "byJSON",
      "byTool",
      "callTool",
      "draw",
      "listModels",
      "respond",
      "several",
    ],
    lacks: ["the thinking"],
    fails: {
      "a stream that ends early": unlessAdapted,
    },
  },
  "OpenAI Agents SDK": {
    without: ["asDeveloper", "byFunctions", "byJSON", "byTool", "callTool", "draw", "listModels", "several"],
    lacks: ["the thinking"],
    fails: {
      "a stream that ends early": unlessAdapted,
    },
  },
  Instructor: {
    passes: { "a response by a schema": directly },
    without: [
      "asDeveloper",
      "callTool",
      "draw",
      "listModels",
      "respond",
      "runTools",
      "several",
      "streamTools",
    ],
  },
  xsAI: {
    without: ["asDeveloper", "byFunctions", "respond", "several"],
    lacks: ["too many requests for a moment"],
    fails: {
      "a stream that ends early": unlessAdapted,
      "an image drawn": unlessAdapted,
    },
  },
  "TanStack AI": {
    without: ["asDeveloper", "byFunctions", "byTool", "callTool", "draw", "listModels", "several"],
    fails: {
      "a stream that ends early": unlessAdapted,
    },
  },
  LlamaIndex: {
    without: ["asDeveloper", "byFunctions", "byTool", "draw", "listModels", "several"],
    lacks: ["a stop by the user"],
    fails: {
      "a stream that ends early": unlessAdapted,
    },
  },
  "openai-fetch": {
    without: ["draw", "listModels", "respond", "runTools", "streamTools"],
    lacks: ["too many requests for a moment"],
    fails: {
      "a stop by the user": unlessAdapted,
      "a stream that ends early": unlessAdapted,
      "a stream whose connection breaks": directly,
    },
  },
  Ax: {
    without: [
      "asDeveloper",
      "byFunctions",
      "byJSON",
      "bySchema",
      "draw",
      "listModels",
      "respond",
      "several",
      "streamTools",
    ],
    lacks: ["the thinking"],
    fails: {
      "a limit of tokens": directly,
      "a stream that ends early": unlessAdapted,
    },
  },
  "Hugging Face": {
    without: [
      "asDeveloper",
      "byFunctions",
      "draw",
      "listModels",
      "respond",
      "runTools",
      "several",
      "streamTools",
    ],
    lacks: ["too many requests for a moment"],
    fails: {
      "a stream that ends early": unlessAdapted,
    },
  },
  curl: {
    passes: { "one stop text for gamma-chat-1-6-251015": directly },
    without: ["runTools", "streamTools"],
    lacks: ["too many requests for a moment"],
    fails: {
      "a stream that ends early": unlessAdapted,
    },
  },
  Mastra: {
    without: ["asDeveloper", "byFunctions", "byTool", "callTool", "draw", "listModels", "respond", "several"],
    lacks: ["the tokens of a stream"],
    passes: { "a response of delta-5.3 in JSON mode": byProxy },
    fails: { "a stream that ends early": unlessAdapted },
  },
  Genkit: {
    without: ["asDeveloper", "byFunctions", "byJSON", "byTool", "draw", "listModels", "respond", "several"],
    passes: {
      "a response by a schema": unlessAdapted,
      "a response of delta-5.3 by a schema": unlessAdapted,
      "a response of gamma-chat-1-6-251015 by a schema": unlessAdapted,
    },
  },
};

export type Verdict = "passes" | "denied" | "fails";

/** Returns true if a client implements a scenario. */
export function has(name: ClientName, title: ScenarioName): boolean {
  const { without = [], lacks = [] } = verdicts[name];
  const { needs }: Scenario = scenarios[title];
  return !lacks.includes(title) && !needs.some((method) => without.includes(method));
}

/** Returns the outcome of a scenario; undefined where it is not tried. */
export function findVerdict(name: ClientName, title: ScenarioName, endpoint: Endpoint): Verdict | undefined {
  const { adapts, denial }: Scenario = scenarios[title];
  if (!has(name, title) || (endpoint === "adapting proxy" && !adapts)) return undefined;
  const { passes = {}, fails = {} } = verdicts[name];
  if (denial?.at.includes(endpoint) && !passes[title]?.includes(endpoint)) return "denied";
  return fails[title]?.includes(endpoint) ? "fails" : "passes";
}
