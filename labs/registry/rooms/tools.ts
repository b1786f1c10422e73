import { defineTool } from "@sluice/core";
import * as v from "valibot";

/** Runs after the user has approved it. */
const saveNote = defineTool({
  name: "save_note",
  description: "Keeps a note for the user, in this browser",
  inputSchema: v.object({ text: v.pipe(v.string(), v.minLength(1), v.description("The note")) }),
  needsApproval: true,
  execute({ text }) {
    const notes: unknown = JSON.parse(localStorage.getItem("notes") ?? "[]");
    const stored = [...(Array.isArray(notes) ? notes : []), text];
    localStorage.setItem("notes", JSON.stringify(stored));
    return { saved: true, notes: stored.length };
  },
});

/** The tools that the model may call. */
export const tools = [saveNote];

/** Names of the tools on their cards. */
export const toolTitles = { save_note: "Save a note" };
