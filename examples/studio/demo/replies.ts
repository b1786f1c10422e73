import { readReplyFiles } from "#demo/reply-files";
import { parseReplyFile } from "./reply-head.ts";

/** A scripted reply: a Markdown file of `replies/` with a small head. */
export interface DemoReply {
  /** Name of the file, without `.md`. */
  readonly id: string;
  /** Prompts that it responds to, normalized. */
  readonly prompts: readonly string[];
  /** Groups of words: a prompt that has all words of one group fits. */
  readonly keywords: readonly (readonly string[])[];
  /** Words of other questions: a prompt that has one of them does not fit its keywords. */
  readonly exceptions: readonly string[];
  /** Tool whose result it follows, and how the call ended: `save_note`, `save_note denied`. */
  readonly toolName: string | undefined;
  /** Situation that it is for: `image`, `no-image`, `tools-off`. */
  readonly situation: string | undefined;
  /** Id of the reply that comes before: then also the prompts of `replies` fit. */
  readonly after: string | undefined;
  readonly replies: readonly string[];
  /** Thinking before the response. */
  readonly reasoning: string;
  /** Tool call instead of a text; `{{…}}` is filled in. */
  readonly call: { readonly name: string; readonly arguments: string } | undefined;
  /** Text in Markdown; `{{…}}` is filled in. */
  readonly content: string;
  /** Beginning of the text, for a model with brief responses. */
  readonly brief: string;
}

/** Line where the response of a brief model ends. */
const BRIEF_END = "\n<!-- a brief model stops here -->\n";

/** Reads all files of `replies/`. */
export function readReplies(): readonly DemoReply[] {
  return readReplyFiles()
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([id, text]) => parseReply(id, text));
}

function parseReply(id: string, file: string): DemoReply {
  const { listValues: all, content } = parseReplyFile(file);
  const [call, text = "{}"] = all("call")[0]?.split(/ (.*)/s) ?? [];
  return {
    id,
    prompts: all("prompt").map(normalize),
    keywords: all("keywords").flatMap((groups) =>
      groups.split(";").map((group) => group.split(",").map(normalize)),
    ),
    exceptions: all("unless").flatMap((words) => words.split(";").map(normalize)),
    toolName: all("result-of")[0],
    situation: all("for")[0],
    after: all("after")[0],
    replies: all("reply").map(normalize),
    reasoning: all("think").join(" "),
    call: call === undefined ? undefined : { name: call, arguments: text },
    content: content.replace(BRIEF_END, "").trim(),
    brief: content.split(BRIEF_END, 1).join().trim(),
  };
}

/** Makes prompts comparable: without `[[faults]]`, case, punctuation and double spaces. */
export function normalize(text: string): string {
  return text
    .replace(/\[\[[^\]]*\]\]/g, " ")
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}_]+/gu, " ")
    .trim();
}
