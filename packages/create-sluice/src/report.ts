import { existsSync } from "node:fs";
import { join, relative } from "node:path";
import { formatDiff } from "./diff.js";
import { findManager } from "./manager.js";
import type { AppOptions, Plan } from "./plan.js";
import { templates } from "./templates.js";

/** Stands for the settings of an edited file, since secrets must not reach a terminal. */
const HIDDEN_SETTINGS = "Settings that were missing, at the end.";

/** Describes the changes that were made, or that a trial would make, and the next steps. */
export function formatReport({ folder, template, add }: AppOptions, plan: Plan, isTrial: boolean): string {
  const { changes, unchanged, manualEdits } = plan;
  const shownFolder = relative(process.cwd(), folder) || ".";
  if (changes.length === 0 && manualEdits.length === 0)
    return `${shownFolder} has everything already. Nothing was changed.\n`;
  const created = changes.filter(({ before }) => before === undefined).map(({ path }) => path);
  const edited = changes.flatMap(({ path, before, after }) =>
    before === undefined
      ? []
      : [`${path}\n\n${indent(path.startsWith(".env") ? HIDDEN_SETTINGS : formatDiff(before, after))}`],
  );
  const done = isTrial ? "would be" : "were";
  return [
    `${shownFolder}: ${templates[template].title}.`,
    ...formatList(`These files ${done} written:`, created),
    ...(edited.length > 0 ? [`These files ${done} changed:`, ...edited] : []),
    ...formatList("These files differ from those of the template, and stay as they are:", unchanged),
    ...formatManualEdits(manualEdits),
    ...(isTrial ? [] : formatNextSteps(shownFolder, folder, add && manualEdits.length > 0)),
    ...(created.some((path) => /\/(?:chat\/page|routes\/chat)\.tsx$/.test(path))
      ? ["The chat is at /chat."]
      : []),
    "",
  ].join("\n\n");
}

function formatList(title: string, paths: readonly string[]): readonly string[] {
  return paths.length === 0 ? [] : [`${title}\n\n${indent(paths.join("\n"))}`];
}

function formatManualEdits(manualEdits: Plan["manualEdits"]): readonly string[] {
  if (manualEdits.length === 0) return [];
  const edits = manualEdits.map(({ file, edit }) => `${file}\n\n${indent(edit)}`);
  return ["TO DO: make these edits yourself. The app does not run without them.", ...edits];
}

function formatNextSteps(shownFolder: string, folder: string, isUnfinished: boolean): readonly string[] {
  const manager = findManager(folder);
  const steps = [
    ...(shownFolder === "." ? [] : [`cd ${shownFolder}`]),
    `${manager} install`,
    `${manager} run dev`,
  ];
  return [
    `${isUnfinished ? "After the edits" : "Next"}:\n\n${indent(steps.join("\n"))}`,
    `It runs on the gateway's emulator: offline, free of charge, without a key. ${
      existsSync(join(folder, "SLUICE.md")) ? "SLUICE.md" : "README.md"
    } explains the rest, including production.`,
  ];
}

function indent(text: string): string {
  return text.trimEnd().replace(/^(?=.)/gm, "  ");
}
