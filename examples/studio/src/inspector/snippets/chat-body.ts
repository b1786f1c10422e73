import type { Work } from "../inspected.js";

export type ChatWork = Extract<Work, { readonly room: "chat" }>;

const QUESTION = "Why is the sky blue?";

/** The tool that stands for those of the room. */
export const exampleTool = {
  name: "save_note",
  description: "Saves a note for the user",
  parameters: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
};

/** Says if the room offers tools. */
export function offersTools({ tools = [] }: ChatWork): boolean {
  return tools.length > 0;
}

/** The question of the room, or one that stands in. */
export function questionOf({ question }: ChatWork): string {
  return question?.trim() || QUESTION;
}

/** The request that the room would send, for `streamChat`. */
export function chatRequestOf(work: ChatWork): object {
  const { target, instructions } = work;
  const question = { role: "user", content: questionOf(work) };
  return {
    model: target.model,
    messages: instructions ? [{ role: "system", content: instructions }, question] : [question],
    ...target.params,
    ...(offersTools(work) && { tools: [{ type: "function", function: exampleTool }] }),
  };
}
