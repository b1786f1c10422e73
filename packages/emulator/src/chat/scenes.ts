/** What a user's last message may ask for, written `[[name]]`, and what then happens. */
export const scenes = {
  "429": "refused with 429 and Retry-After: 1; [[429:2]] refuses only the first 2 requests with that body",
  "500": "fails with 500; [[500:2]] fails only the first 2 requests with that body",
  slow: "a long answer of at least 50 deltas, at least 20 ms apart whatever the speed",
  stall: "some text, then silence for as long as the client waits",
  truncate: "some text, then the stream ends as if complete, without finish_reason or [DONE]",
  drop: "some text, then the connection breaks",
  malformed: "some text, then a frame of broken JSON",
  "error-frame": "some text, then an error object inside the stream",
  length: "the answer is cut, finish_reason length",
  filter: "the answer is cut, finish_reason content_filter",
  json: "the answer is JSON",
} as const;

export type SceneName = keyof typeof scenes;

/** How a stream may go wrong after some text. */
export type Ending = "stall" | "truncate" | "drop" | "malformed" | "error-frame";

/** The scenes of one message. They combine: `[[slow]] [[drop]]` is slow and then breaks. */
export interface SceneCues {
  readonly names: ReadonlySet<SceneName>;
  readonly ending: Ending | undefined;
  /** The first `times` requests with the same body are refused. */
  readonly refusal: { readonly status: 429 | 500; readonly times: number } | undefined;
  /** The message without its cues. */
  readonly text: string;
}

const CUE = /\[\[([a-z0-9-]+)(?::(\d{1,6}))?\]\]/gi;
const endings: readonly Ending[] = ["stall", "truncate", "drop", "malformed", "error-frame"];

/** Reads the cues of `message`; what is no known scene stays text. */
export function readCues(message: string): SceneCues {
  const names = new Set<SceneName>();
  let refusal: SceneCues["refusal"];
  const text = message.replace(CUE, (cue: string, word: string, times?: string) => {
    const name = word.toLowerCase();
    if (!isScene(name)) return cue;
    names.add(name);
    if (name === "429" || name === "500")
      refusal ??= {
        status: name === "429" ? 429 : 500,
        times: times === undefined ? Infinity : Number(times),
      };
    return "";
  });
  return { names, ending: endings.find((name) => names.has(name)), refusal, text: text.trim() };
}

function isScene(name: string): name is SceneName {
  return Object.hasOwn(scenes, name);
}
